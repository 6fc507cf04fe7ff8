import type { Duplex, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { connectPort, joinConnection, type AttachIO, type Clock, type ExecResult, type TerminalSize } from "@virtual-kubelet/core";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import type { Reaper } from "@virtual-kubelet/testing";
import type { ProcessContainer } from "./process-container.ts";
import { spawnCommand } from "./spawn-command.ts";

/** Commands that run, to be killed when the provider ends. */
export type RunningCommands = Set<{ kill(): Promise<unknown> }>;

/** How long a command with a terminal waits for the terminal's size: a client that has one tells it at once. */
const firstSizeMs = 500;

/** Context of a command. */
export interface ExecSurroundings {
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly clock: Clock;
  readonly reaper: Reaper;
  readonly commands: RunningCommands;
}

/** Runs a command beside a container's process. @throws `signal.reason` when aborted; its process group is dead then */
export async function exec(
  command: readonly string[],
  io: AttachIO,
  { env, cwd, clock, reaper, commands }: ExecSurroundings,
  signal: AbortSignal,
): Promise<ExecResult> {
  signal.throwIfAborted();
  let size: TerminalSize = { width: 80, height: 24 };
  const told = new AbortController();
  let onSize = (next: TerminalSize): void => {
    size = next;
    told.abort();
  };
  const sizes = followSizes(io.tty ? io.resizes : undefined, (next) => onSize(next));
  if (io.tty) await clock.sleep(firstSizeMs, AbortSignal.any([signal, told.signal])).catch(() => {});
  signal.throwIfAborted();
  const group = spawnCommand({ command, env, cwd, stdin: io.stdin !== undefined, terminal: io.tty ? size : undefined }, reaper);
  onSize = (next) => group.resize(next);
  const { child, exited } = group;
  const entry = {
    kill: () => {
      group.signal("SIGKILL");
      return exited;
    },
  };
  commands.add(entry);
  const onAbort = (): void => group.signal("SIGKILL");
  signal.addEventListener("abort", onAbort, { once: true });
  const over = new AbortController();
  const typed = copyInput(io, child.stdin, { signal: AbortSignal.any([signal, over.signal]), endsInput: true });
  const outputs = (["stdout", "stderr"] as const).map(async (name) => {
    const target = io[name];
    if (target && child[name]) await pipeline(child[name], target, { end: false, signal }).catch(() => {});
    else child[name]?.resume();
  });
  try {
    const exitCode = await exited;
    await Promise.all(outputs);
    signal.throwIfAborted();
    return { exitCode };
  } finally {
    over.abort();
    commands.delete(entry);
    signal.removeEventListener("abort", onAbort);
    sizes();
    await typed;
  }
}

/** Joins the streams of a container's process, until it or the client ends. */
export async function attach(container: ProcessContainer, io: AttachIO, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const run = container.running;
  if (!run) return;
  const { group, attached } = run;
  const target = io.stdout ?? io.stderr;
  if (target) attached.add(target);
  const over = new AbortController();
  const until = AbortSignal.any([signal, over.signal]);
  const typed = copyInput(io, group.child.stdin, { signal: until, endsInput: container.plan.spec.stdinOnce ?? false });
  const endSizes = followSizes(io.resizes, (size) => group.resize(size));
  try {
    await Promise.race([group.exited, aborted(until)]);
  } finally {
    over.abort();
    if (target) attached.delete(target);
    endSizes();
    await typed;
  }
  signal.throwIfAborted();
}

/** Hands the client's input on, at the command's pace. Never rejects: a command may exit before its input has ended. */
function copyInput(
  { stdin }: AttachIO,
  target: Writable | null,
  { signal, endsInput }: { readonly signal: AbortSignal; readonly endsInput: boolean },
): Promise<void> {
  if (!stdin || !target || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const onData = (chunk: Uint8Array): void => {
      if (!target.write(chunk)) stdin.pause();
    };
    const onDrain = (): void => void stdin.resume();
    const onEnd = (): void => {
      if (endsInput) target.end();
      done();
    };
    const done = (): void => {
      stdin.off("data", onData).off("end", onEnd).off("error", done);
      target.off("drain", onDrain).off("close", done);
      signal.removeEventListener("abort", done);
      stdin.pause();
      resolve();
    };
    stdin.on("data", onData).once("end", onEnd).once("error", done);
    target.on("drain", onDrain).once("close", done);
    signal.addEventListener("abort", done, { once: true });
  });
}

/** Joins a stream with a port of this machine, each direction ending by itself. */
export async function forward(port: number, stream: Duplex, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const connection = await connectPort("127.0.0.1", port, signal).catch((cause: unknown) => {
    signal.throwIfAborted();
    throw new UnavailableError(`port ${port} of the pod: connection refused`, { cause });
  });
  await joinConnection(stream, connection, signal);
}

/** @returns what ends it */
function followSizes(resizes: AsyncIterable<TerminalSize> | undefined, onSize: (size: TerminalSize) => void): () => void {
  const sizes = resizes?.[Symbol.asyncIterator]();
  const read = async (): Promise<void> => {
    for (let next = await sizes?.next(); next && !next.done; next = await sizes?.next()) onSize(next.value);
  };
  read().catch(() => {});
  return () => void sizes?.return?.();
}

/** Resolves with nothing when the signal aborts. */
function aborted(signal: AbortSignal): Promise<undefined> {
  if (signal.aborted) return Promise.resolve(undefined);
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(undefined), { once: true }));
}
