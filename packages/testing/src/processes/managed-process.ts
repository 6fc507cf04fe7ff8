import type { Clock } from "@virtual-kubelet/clock";
import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import type { Reaper } from "./reaper.ts";

/** A program and the file for its output. */
export interface ProcessCommand {
  /** Name in messages. */
  readonly name: string;
  /** Path of the program. */
  readonly program: string;
  readonly args: readonly string[];
  /** The whole environment. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** File that output and errors are appended to. */
  readonly logFile: string;
}

/** How a process ended: with an exit code, or by a signal. */
export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A child process that ends in bounded time. */
export interface ManagedProcess extends AsyncDisposable {
  readonly name: string;
  readonly pid: number;
  /** File with its output and errors. */
  readonly logFile: string;
  /** How it ended; `undefined` while it runs. */
  readonly exit: ProcessExit | undefined;
  /** Resolves when the process has ended, for any reason; never rejects. */
  readonly exited: Promise<ProcessExit>;
  /** Sends a signal; does nothing if it has ended. */
  signal(signal: NodeJS.Signals): void;
  /** SIGTERM, then SIGKILL after `graceMs` (default 5000); returns when it has ended. Disposing does the same. */
  stop(graceMs?: number): Promise<void>;
  /** SIGKILL; returns when it has ended. */
  kill(): Promise<void>;
}

/** Starts the program. @throws UnavailableError if it cannot be started at all. */
export async function startProcess(
  command: ProcessCommand,
  options: { readonly reaper: Reaper; readonly clock: Clock },
): Promise<ManagedProcess> {
  const log = openSync(command.logFile, "a");
  const child = spawn(command.program, command.args, {
    // The process gets its own group, because the parent handles Ctrl-C.
    detached: true,
    env: command.environment,
    stdio: ["ignore", log, log],
  });
  closeSync(log);
  let exit: ProcessExit | undefined;
  const exited = new Promise<ProcessExit>((resolve) => {
    child.once("exit", (code, signal) => {
      exit = { code, signal };
      if (child.pid !== undefined) options.reaper.forget(child.pid);
      resolve(exit);
    });
  });
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", (cause) => reject(new UnavailableError(`start ${command.name}: cannot run ${command.program}`, { cause })));
  });
  const pid = child.pid ?? 0;
  options.reaper.watch(pid);

  return {
    name: command.name,
    pid,
    logFile: command.logFile,
    get exit() {
      return exit;
    },
    exited,
    signal: (signal) => void child.kill(signal),
    stop,
    kill,
    [Symbol.asyncDispose]: () => stop(),
  };

  async function stop(graceMs = 5000): Promise<void> {
    if (exit !== undefined) return;
    child.kill("SIGTERM");
    using _timer = options.clock.setTimer(graceMs, () => void child.kill("SIGKILL"));
    await exited;
  }

  async function kill(): Promise<void> {
    child.kill("SIGKILL");
    await exited;
  }
}

/** The last lines of a log, for an error message; empty if it cannot be read. */
export async function logTail(logFile: string, lines = 15): Promise<string> {
  const text = await readFile(logFile, "utf8").catch(() => "");
  return text.trimEnd().split("\n").slice(-lines).join("\n");
}
