import { spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";

/** How a program of the machine is run; see {@link runTool}. */
export interface ToolRun {
  readonly args: readonly string[];
  /** A file it finds open as its descriptor 3. */
  readonly fd?: number | undefined;
  /** Ends it. */
  readonly signal?: AbortSignal | undefined;
  /** Ends it early: what it wrote by then is given. */
  readonly until?: AbortSignal | undefined;
}

/** How it ended, and what it wrote. */
export interface ToolResult {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Most that is kept of what a program complains of, in characters. */
const maxErrorLength = 4096;

/** Where mount, umount and du are; the program's own environment has no say in it. */
const environment = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" };

/**
 * Runs a program of the machine to its end.
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

/** A container can have du complain of as many files as it likes. */
async function beginningOf(stream: Readable): Promise<string> {
  let kept = "";
  stream.setEncoding("utf8");
  for await (const chunk of stream) if (kept.length < maxErrorLength) kept += String(chunk);
  return kept.slice(0, maxErrorLength);
}
