import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { constants } from "node:os";
import type { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";

/** Streams of a command's client; unused ones are `undefined`. */
export interface Streams {
  readonly stdin: Readable | undefined;
  readonly stdout: Writable | undefined;
  readonly stderr: Writable | undefined;
}

/** A command and all processes it starts. */
export class ProcessGroup {
  readonly child: ChildProcessWithoutNullStreams;
  /** Exit code, once the command has ended and its output is read; 127 if the program does not exist. Never rejects. */
  readonly exitCode: Promise<number>;

  constructor([program = "", ...args]: readonly string[], env: Readonly<Record<string, string>>) {
    const child = spawn(program, args, { env: { PATH: "/usr/local/bin:/usr/bin:/bin", ...env }, detached: true, stdio: "pipe" });
    this.child = child;
    child.stdin.on("error", () => {});
    this.exitCode = new Promise((resolve) => {
      child.once("error", () => resolve(127));
      // Processes left running would keep the output open.
      child.once("exit", () => this.signal("SIGKILL"));
      child.once("close", (code, signal) => resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])));
    });
  }

  signal(name: NodeJS.Signals): void {
    try {
      if (this.child.pid !== undefined) process.kill(-this.child.pid, name);
    } catch {
      // It has already ended.
    }
  }

  /** Connects the command with a client's streams, with back-pressure. @throws `signal.reason` after ending the command */
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
