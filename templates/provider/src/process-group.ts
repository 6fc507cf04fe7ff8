import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { constants } from "node:os";
import type { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";

/** The streams of who runs a command; what is not wanted is `undefined`. */
export interface Streams {
  readonly stdin: Readable | undefined;
  readonly stdout: Writable | undefined;
  readonly stderr: Writable | undefined;
}

/** A command, and all it starts. */
export class ProcessGroup {
  readonly child: ChildProcessWithoutNullStreams;
  /** When it has ended and its output is read; 127 if there is no such program. Never rejects. */
  readonly exitCode: Promise<number>;

  constructor([program = "", ...args]: readonly string[], env: Readonly<Record<string, string>>) {
    const child = spawn(program, args, { env: { PATH: "/usr/local/bin:/usr/bin:/bin", ...env }, detached: true, stdio: "pipe" });
    this.child = child;
    child.stdin.on("error", () => {});
    this.exitCode = new Promise((resolve) => {
      child.once("error", () => resolve(127));
      // What it left running would hold its output open.
      child.once("exit", () => this.signal("SIGKILL"));
      child.once("close", (code, signal) => resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])));
    });
  }

  signal(name: NodeJS.Signals): void {
    try {
      if (this.child.pid !== undefined) process.kill(-this.child.pid, name);
    } catch {
      // It has ended.
    }
  }

  /** Joins the command with a client's streams, at the pace of the slower. @throws `signal.reason`; the command is ended then */
  async join({ stdin, stdout, stderr }: Streams, signal: AbortSignal): Promise<number> {
    const { child } = this;
    const onAbort = (): void => this.signal("SIGKILL");
    signal.addEventListener("abort", onAbort, { once: true });
    const over = new AbortController();
    // A command may end before its input does.
    const input = stdin ? pipeline(stdin, child.stdin, { signal: over.signal }).catch(() => {}) : child.stdin.end();
    const copy = (from: Readable, to: Writable | undefined): unknown =>
      to ? pipeline(from, to, { end: false, signal }).catch(() => {}) : from.resume();
    const outputs = [copy(child.stdout, stdout), copy(child.stderr, stderr)];
    try {
      const exitCode = await this.exitCode;
      await Promise.all(outputs);
      signal.throwIfAborted();
      return exitCode;
    } finally {
      over.abort();
      signal.removeEventListener("abort", onAbort);
      await input;
    }
  }
}
