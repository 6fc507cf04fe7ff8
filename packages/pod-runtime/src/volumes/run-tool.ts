import { spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";

/** Arguments and limits of a program that is run. */
export interface ToolRun {
  readonly args: readonly string[];
  /** A file that the program inherits as descriptor 3. */
  readonly fd?: number | undefined;
  /** Kills the program. */
  readonly signal?: AbortSignal | undefined;
  /** Kills the program early: the output so far is returned. */
  readonly until?: AbortSignal | undefined;
}

/** Exit and output of a program. */
export interface ToolResult {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Maximum characters kept of standard error. */
const maxErrorLength = 4096;

/** The path for mount, umount and du, independent of this program's environment. */
const environment = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" };

/**
 * Runs a program of the machine.
 *
 * @throws an Error if it cannot be run, `signal.reason` when aborted
 */
export async function runTool(name: string, { args, fd, signal, until }: ToolRun): Promise<ToolResult> {
  signal?.throwIfAborted();
  const child = spawn(name, args, { env: environment, stdio: ["ignore", "pipe", "pipe", ...(fd === undefined ? [] : [fd])] });
  const onAbort = (): void => void child.kill("SIGKILL");
  signal?.addEventListener("abort", onAbort, { once: true });
  until?.addEventListener("abort", onAbort, { once: true });
  try {
    const [exitCode, stdout, stderr] = await Promise.all([
      new Promise<number | null>((resolve, reject) => {
        child.once("error", reject);
        child.once("close", resolve);
      }),
      child.stdout ? text(child.stdout) : "",
      child.stderr ? beginningOf(child.stderr) : "",
    ]);
    signal?.throwIfAborted();
    return { exitCode, stdout, stderr };
  } finally {
    signal?.removeEventListener("abort", onAbort);
    until?.removeEventListener("abort", onAbort);
  }
}

/** Limited, because a container can make du complain about any number of files. */
async function beginningOf(stream: Readable): Promise<string> {
  let kept = "";
  stream.setEncoding("utf8");
  for await (const chunk of stream) if (kept.length < maxErrorLength) kept += String(chunk);
  return kept.slice(0, maxErrorLength);
}
