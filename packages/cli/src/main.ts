#!/usr/bin/env node
import { systemClock, systemRandom } from "@virtual-kubelet/kube-client/system-clock";
import { homedir, hostname, networkInterfaces } from "node:os";
import { runProgram } from "./cli.ts";
import { exitCodes } from "./exit-codes.ts";
import { reachableAddresses } from "./kubelet-server/node-address.ts";

/** How long what is left open may keep the process once the program has ended. */
const lingerMs = 2_000;

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 24 || (major === 24 && minor < 11)) {
  process.stderr.write(`virtual-kubelet: Node.js ${process.version}: expected 24.11 or later\n`);
  process.exit(exitCodes.failure.code);
}

const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) {
  process.on(name, () => {
    if (stop.signal.aborted) process.exit(exitCodes.killed.code);
    stop.abort(new Error(`received ${name}`));
  });
}
process.on("uncaughtException", (error) => {
  process.stderr.write(`virtual-kubelet: fault in the program or in a provider: ${error.stack ?? error.message}\n`);
  process.exit(exitCodes.internal.code);
});
// A reader that has seen enough, such as head, is no fault.
process.stdout.on("error", () => process.exit(exitCodes.ok.code));

process.exitCode = await runProgram(process.argv.slice(2), {
  stdout: { write: (text) => void process.stdout.write(text), isTTY: process.stdout.isTTY },
  stderr: { write: (text) => void process.stderr.write(text), isTTY: process.stderr.isTTY },
  env: process.env,
  cwd: process.cwd(),
  homeDir: homedir(),
  hostName: hostname(),
  hostAddresses: reachableAddresses(networkInterfaces()),
  clock: systemClock,
  random: systemRandom,
  signal: stop.signal,
});
setTimeout(() => process.exit(), lingerMs).unref();
