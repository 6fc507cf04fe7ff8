#!/usr/bin/env node
import { systemClock, systemRandom } from "@virtual-kubelet/clock";
import { homedir, hostname, networkInterfaces } from "node:os";
import { runProgram } from "./cli.ts";
import { exitCodes } from "./exit-codes.ts";
import { homeDirectory } from "./home-directory.ts";
import { reachableAddresses } from "./kubelet-server/node-address.ts";

/** How long what is left open may keep the process once the program has ended. */
const lingerMs = 2_000;

/** How long it may after a signal, in milliseconds: whoever sent one waits for the end. */
const shortLingerMs = 100;

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 24 || (major === 24 && minor < 11)) {
  process.stderr.write(`virtual-kubelet: Node.js ${process.version}: expected 24.11 or later\n`);
  process.exit(exitCodes.failure.code);
}

const stop = new AbortController();
let received: NodeJS.Signals = "SIGTERM";
for (const name of ["SIGINT", "SIGTERM"] as const) {
  process.on(name, () => {
    received = name;
    if (stop.signal.aborted) leave(exitCodes.killed.code);
    stop.abort(new Error(`received ${name}`));
  });
}
process.on("uncaughtException", (error) => {
  process.stderr.write(`virtual-kubelet: fault in the program or in a provider: ${error.stack ?? error.message}\n`);
  process.exit(exitCodes.internal.code);
});
// A reader that has seen enough, such as head, is no fault.
process.stdout.on("error", () => process.exit(exitCodes.ok.code));

// A node goes on without those who read its log; its health says so.
let logProblem: string | undefined;
process.stderr.on("error", (error) => (logProblem = error.message));

process.exitCode = await runProgram(process.argv.slice(2), {
  stdout: { write: (text) => void process.stdout.write(text), isTTY: process.stdout.isTTY },
  stderr: {
    write: (text) => void process.stderr.write(text, (error) => (logProblem = error?.message)),
    isTTY: process.stderr.isTTY,
    problem: () => logProblem,
  },
  env: process.env,
  cwd: process.cwd(),
  homeDir: homeDirectory(homedir),
  pid: process.pid,
  isRoot: process.geteuid?.() === 0,
  hostName: hostname(),
  hostAddresses: reachableAddresses(networkInterfaces()),
  clock: systemClock,
  random: systemRandom,
  signal: stop.signal,
});
// What is about to be read or written ends first.
if (stop.signal.aborted) setTimeout(leave, shortLingerMs).unref();
setTimeout(() => process.exit(), lingerMs).unref();

/**
 * Ends the process at once, whatever it still waits for. Node.js joins its threads before it exits, and one that waits for a file or a
 * name is joined only when that answers: then it is the signal itself that ends the process.
 */
function leave(code?: number): never {
  if (process.getActiveResourcesInfo().some((name) => /^(FSReq|GetAddrInfo|GetNameInfo)/.test(name))) {
    process.removeAllListeners(received);
    process.kill(process.pid, received);
  }
  process.exit(code);
}
