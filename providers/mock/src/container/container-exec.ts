import type { AttachIO, Clock, ExecResult, ResolvedEnvVar, TerminalSize } from "@virtual-kubelet/core";
import { once } from "node:events";
import type { Writable } from "node:stream";
import type { MemoryFiles } from "../files/memory-files.ts";
import type { Machine } from "../shell/command.ts";
import { builtins } from "../shell/builtins.ts";
import { Shell } from "../shell/shell.ts";
import { BrokenPipeError, Input, type Output } from "../shell/streams.ts";
import { Terminal } from "../shell/terminal.ts";

export interface ExecContext {
  readonly hostname: string;
  readonly files: MemoryFiles;
  readonly clock: Clock;
  readonly environment: readonly ResolvedEnvVar[];
  readonly directory: string;
}

/** Used until the terminal's size is known. */
const defaultSize: TerminalSize = { width: 80, height: 24 };

/** Runs a command of the mock's shell. @throws `signal.reason` when aborted */
export async function runCommand(
  command: readonly string[],
  io: AttachIO,
  { hostname, files, clock, environment, directory }: ExecContext,
  signal: AbortSignal,
): Promise<ExecResult> {
  const interrupt = new AbortController();
  const ends = new AbortController();
  const running = AbortSignal.any([signal, interrupt.signal]);
  let size: TerminalSize | undefined = io.tty ? defaultSize : undefined;
  const endAll = (): void => interrupt.abort(new Interrupted());
  let onInterrupt = endAll;
  const machine: Machine = {
    hostname,
    files,
    nowMs: () => clock.now(),
    sleep: (ms, sleepSignal) => clock.sleep(ms, sleepSignal),
    terminalSize: () => size,
    takeInterrupts(handler) {
      const before = onInterrupt;
      onInterrupt = handler;
      return { [Symbol.dispose]: () => void (onInterrupt = before) };
    },
  };
  const stdout = toOutput(io.stdout, running);
  const typed = io.stdin ? readUntilAborted(io.stdin, AbortSignal.any([running, ends.signal])) : nothing();
  const terminal = io.tty ? new Terminal({ typed, screen: stdout, onInterrupt: () => onInterrupt() }) : undefined;
  terminal?.done.catch(() => {});
  const output = terminal?.output ?? stdout;
  const streams = {
    stdin: terminal?.input ?? new Input(typed),
    stdout: output,
    stderr: io.tty ? output : toOutput(io.stderr, running),
  };
  const sizes = io.tty ? followSizes(io.resizes, (next) => (size = next)) : undefined;
  const env = new Map([
    ["PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
    ["HOSTNAME", hostname],
    ["HOME", "/root"],
    ...(io.tty ? [["TERM", "xterm"] as const] : []),
    ...environment.map(({ name, value }) => [name, value] as const),
  ]);
  try {
    await sizes?.first;
    const shell = new Shell({ builtins, machine, env, directory, signal: running });
    const exitCode = await shell.runWords(command, streams, env).catch(exitCodeOf);
    running.throwIfAborted();
    return { exitCode };
  } catch (error) {
    signal.throwIfAborted();
    if (interrupt.signal.aborted) return { exitCode: 130 };
    throw error;
  } finally {
    ends.abort(new Interrupted());
    sizes?.end();
  }
}

async function* nothing(): AsyncGenerator<never, void, undefined> {}

/** Reason for ending a command: Ctrl-C, or the command's own end. */
class Interrupted extends Error {
  override readonly name = "Interrupted";
}

function exitCodeOf(error: unknown): number {
  if (error instanceof Error && "exitCode" in error && typeof error.exitCode === "number") return error.exitCode;
  if (error instanceof BrokenPipeError) return 141;
  throw error;
}

/** Output that writes to a Node.js stream with back-pressure; without a stream, output is dropped. */
export function toOutput(stream: Writable | undefined, signal: AbortSignal): Output {
  return {
    async write(chunk) {
      signal.throwIfAborted();
      if (!stream) return;
      if (stream.destroyed || stream.writableEnded) throw new BrokenPipeError("the client is gone");
      if (stream.write(chunk)) return;
      const over = new AbortController();
      try {
        await Promise.race([
          once(stream, "drain", { signal: AbortSignal.any([signal, over.signal]) }),
          once(stream, "close", { signal: over.signal }),
        ]);
      } catch (error) {
        signal.throwIfAborted();
        throw error;
      } finally {
        over.abort();
      }
    },
  };
}

/** Reads a Node.js stream until the signal aborts. The stream is not destroyed, because it belongs to the caller. */
export async function* readUntilAborted(stream: AsyncIterable<unknown>, signal: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
  const chunks = stream[Symbol.asyncIterator]();
  while (!signal.aborted) {
    const next = chunks.next();
    // If it loses the race, its rejection must not be unhandled.
    next.catch(() => {});
    // A new promise for each chunk: a single long-lived one would keep all reactions in memory.
    const { promise: aborted, resolve } = Promise.withResolvers<{ readonly done: true; readonly value: undefined }>();
    const onAbort = (): void => resolve({ done: true, value: undefined });
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      const { done, value } = await Promise.race([next, aborted]);
      if (done) return;
      yield typeof value === "string" ? Buffer.from(value) : (value as Uint8Array);
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }
}

/** Passes on the sizes of a terminal. A command waits for the first one, so that it can query it immediately. */
function followSizes(
  resizes: AsyncIterable<TerminalSize>,
  onSize: (size: TerminalSize) => void,
): { readonly first: Promise<void>; end(): void } {
  const sizes = resizes[Symbol.asyncIterator]();
  const first = Promise.withResolvers<void>();
  let ended = false;
  const read = async (): Promise<void> => {
    for (let next = await sizes.next(); !next.done && !ended; next = await sizes.next()) {
      onSize(next.value);
      first.resolve();
    }
  };
  read().then(
    () => first.resolve(),
    () => first.resolve(),
  );
  // Clients that send no size are not waited for.
  setImmediate(() => first.resolve());
  return {
    first: first.promise,
    end() {
      ended = true;
      void sizes.return?.();
    },
  };
}
