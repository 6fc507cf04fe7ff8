import { systemClock, systemRandom } from "@virtual-kubelet/clock";
import { reachableAddresses } from "@virtual-kubelet/core";
import { homedir, hostname, networkInterfaces } from "node:os";
import { runProgram } from "./cli.ts";
import { exitCodes } from "./exit-codes.ts";
import { homeDirectory } from "./home-directory.ts";
import { processTerminal } from "./process-terminal.ts";

/** How long open handles may keep the process after the program has ended. */
const lingerMs = 2_000;

/** The same after a signal, whose sender waits for the end. */
const shortLingerMs = 100;

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
// A reader that closes early, such as head, is not an error.
process.stdout.on("error", () => process.exit(exitCodes.ok.code));

// A node keeps running without a reader of its log, and reports that in its health.
let logProblem: string | undefined;
process.stderr.on("error", (error) => (logProblem = error.message));

process.exitCode = await runProgram(process.argv.slice(2), {
  stdout: { write: (text) => void process.stdout.write(text), isTTY: process.stdout.isTTY },
  stderr: {
    write: (text) => void process.stderr.write(text, (error) => (logProblem = error?.message)),
    isTTY: process.stderr.isTTY,
    problem: () => logProblem,
  },
  terminal: processTerminal(process),
  env: process.env,
  cwd: process.cwd(),
  homeDir: homeDirectory(homedir),
  pid: process.pid,
  invocation: { node: process.execPath, nodeFlags: process.execArgv, program: process.argv[1] ?? "" },
  isRoot: process.geteuid?.() === 0,
  hostName: hostname(),
  hostAddresses: reachableAddresses(networkInterfaces()),
  clock: systemClock,
  random: systemRandom,
  signal: stop.signal,
});
// Lets reads and writes in progress finish first.
if (stop.signal.aborted) setTimeout(leave, shortLingerMs).unref();
setTimeout(() => process.exit(), lingerMs).unref();

/**
 * Ends the process immediately. Node.js joins its threads before it exits, and a thread that waits for a file or a name would block that,
 * so after a signal the process kills itself with the same signal. The first process of a container cannot kill itself, because the kernel
 * ignores such signals: it replaces itself, and thereby its threads, with a Node.js that exits at once.
 */
function leave(code?: number): never {
  if (process.getActiveResourcesInfo().some((name) => /^(FSReq|GetAddrInfo|GetNameInfo)/.test(name))) {
    if (process.pid === 1 && process.execve) {
      const exitCode = code ?? (received === "SIGINT" ? exitCodes.killed.code : exitCodes.terminated.code);
      process.execve(process.execPath, [process.execPath, "--eval", `process.exit(${exitCode})`], {});
    }
    process.removeAllListeners(received);
    process.kill(process.pid, received);
  }
  process.exit(code);
}
