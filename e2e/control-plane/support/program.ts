import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { systemClock } from "@virtual-kubelet/kube-client";
import { logTail, startProcess, startReaper, type ManagedProcess } from "@virtual-kubelet/testing";
import { onTestFailed } from "vitest";

const main = join(import.meta.dirname, "../../../packages/cli/src/main.ts");
const fromSources = ["--conditions=@virtual-kubelet/source", main];

/** The program, in a process of its own. */
export interface Program extends AsyncDisposable {
  readonly process: ManagedProcess;
  /** What it has said so far. */
  log(): Promise<string>;
}

/** Runs the program to its end. @returns its output */
export async function programOutput(args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [...fromSources, ...args], { env: { PATH: process.env["PATH"] } });
  return stdout;
}

/** Starts the program; it is ended with the test, at the latest. */
export async function startProgram(args: readonly string[]): Promise<Program> {
  const directory = await mkdtemp(join(tmpdir(), "program-"));
  const reaper = startReaper(directory);
  const logFile = join(directory, "program.log");
  let lastWords = "";
  onTestFailed(async () => console.error(lastWords || (await logTail(logFile, 80))));
  const child = await startProcess(
    {
      name: "virtual-kubelet",
      program: process.execPath,
      args: [...fromSources, "run", "--health-addr", "off", "--log-level", "debug", ...args],
      environment: { PATH: process.env["PATH"] },
      logFile,
    },
    { reaper, clock: systemClock },
  );
  return {
    process: child,
    log: () => logTail(logFile, 1000),
    async [Symbol.asyncDispose]() {
      await child.stop();
      lastWords = await logTail(logFile, 80);
      reaper[Symbol.dispose]();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
