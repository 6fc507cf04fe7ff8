import { untilAborted } from "@virtual-kubelet/async";
import type { Clock, Random } from "@virtual-kubelet/clock";
import type { AttachIO, ExecResult, TerminalSize } from "@virtual-kubelet/core";
import { messageOf, NotFoundError, UnauthorizedError, UnavailableError } from "@virtual-kubelet/errdefs";
import { chunksOf } from "@virtual-kubelet/remote-pods";
import { once } from "node:events";
import type { Writable } from "node:stream";
import type { RawData, WebSocket } from "ws";
import { heartbeatFrame, inputEndFrame, inputFrames, readExecFrame, sizeFrame } from "../api/exec-frames.ts";
import type { NomadClient } from "../api/nomad-client.ts";
import type { PodEntry } from "../pods/pod-entry.ts";
import { MarkedCommand, shellPath, shellWords } from "./marked-command.ts";
import { runningAllocationOf } from "./task-of.ts";

/** A command in a container. */
export interface ExecInput {
  readonly client: Pick<NomadClient, "exec">;
  readonly clock: Clock;
  readonly random: Pick<Random, "uuid">;
  readonly entry: PodEntry;
  readonly container: string;
  readonly command: readonly string[];
  readonly io: AttachIO;
}

/** A command in progress: its words as sent to Nomad, and the marks of the shell around it, if there is one. */
interface Call extends Pick<ExecInput, "clock" | "io"> {
  readonly words: readonly string[];
  readonly marked?: MarkedCommand | undefined;
  readonly what: string;
  open(words: readonly string[], tty: boolean): Promise<WebSocket>;
}

const heartbeatMs = 10_000;
/** Delays after which the terminal's size is sent again, because a size that arrives before the terminal exists is lost. */
const sizeAgainMs = [100, 200, 400, 800] as const;
/** Maximum bytes of input buffered in the socket. */
const maxBufferedBytes = 1024 * 1024;
const drainPauseMs = 10;
/** Maximum time for ending the command of an aborted call. */
const leaveMs = 10_000;
/** Longer than any engine's message about a missing shell: after this much output the program exists, even if it is not a real shell. */
const maxEarlyBytes = 16 * 1024;
const ctrlC = 3;
const ctrlD = 4;

/**
 * Runs a command in a container's task.
 *
 * @throws NotFoundError if the container does not run; UnavailableError if the connection breaks
 */
export async function execInTask(
  { client, clock, random, entry, container, command, io }: ExecInput,
  signal: AbortSignal,
): Promise<ExecResult> {
  signal.throwIfAborted();
  const allocation = runningAllocationOf(entry, container);
  const { ref, driver } = entry.shape;
  const call: Call = {
    clock,
    io,
    words: command,
    what: `run a command in container ${container} of pod ${ref.namespace}/${ref.name}`,
    open: (words, tty) => client.exec(allocation, { task: container, tty, command: JSON.stringify(words) }, ref.namespace),
  };
  // The exec driver accepts no more commands for a task once one could not be started. A shell can always be started.
  if (io.tty) return run(driver === "exec" ? { ...call, words: shellWords(command) } : call, signal);
  if (entry.withoutShell.has(container)) return run(call, signal);
  const marked = new MarkedCommand(command, random);
  try {
    return await run({ ...call, words: marked.words, marked }, signal);
  } catch (error) {
    if (!(error instanceof NoShellError)) throw error;
    entry.withoutShell.add(container);
    return run(call, signal);
  }
}

/** There is no shell in the container, so the command has not begun. */
class NoShellError extends Error {}

/** Messages of raw_exec and of Docker engines about a missing program. */
const noShell = new RegExp(`(failed to start command|exec failed): .*${shellPath}\\b`);

async function run(call: Call, signal: AbortSignal): Promise<ExecResult> {
  const { io, clock, words } = call;
  const socket = await call.open(words, io.tty);
  const over = new AbortController();
  const until = AbortSignal.any([signal, over.signal]);
  const ended = readOutput(socket, call, signal);
  ended.catch(() => {});
  try {
    await Promise.race([once(socket, "open", { signal: until }), ended]).catch(() => {});
    void sendInput(socket, call, until);
    void sendSizes(socket, io, clock, until);
    void beat(socket, clock, until);
    const exitCode = await Promise.race([ended, aborted(signal)]);
    if (exitCode === undefined) await leave(socket, call, ended);
    signal.throwIfAborted();
    return { exitCode: exitCode ?? 0 };
  } catch (error) {
    // The shell may have ended with the connection while the command runs on.
    if (!signal.aborted) await leave(socket, call, ended);
    signal.throwIfAborted();
    throw error;
  } finally {
    over.abort();
    await hangUp(socket);
  }
}

/** Closes a connection. Returns when the connection no longer counts. */
async function hangUp(socket: WebSocket): Promise<void> {
  if (socket.readyState === socket.CLOSED) return;
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  socket.terminate();
  await closed;
}

/**
 * Ends the command of a call that was aborted or cut off. Nomad notices a closed connection only when the command
 * writes. A command on a terminal therefore gets Ctrl-C and Ctrl-D; any other gets the end of its input, and is killed if its process is known.
 */
async function leave(socket: WebSocket, { io, clock, marked, open }: Call, ended: Promise<unknown>): Promise<void> {
  const late = new AbortController();
  const limit = clock.sleep(leaveMs, late.signal).catch(() => {});
  const first = (...events: Promise<unknown>[]): Promise<unknown> => Promise.race([...events, limit]).catch(() => {});
  // Nomad may have started the command already without having said so.
  if (socket.readyState === socket.CONNECTING) await first(once(socket, "open", late), ended);
  if (socket.readyState === socket.OPEN) {
    if (io.tty) for (const frame of inputFrames(Buffer.from([ctrlC, ctrlD]))) socket.send(frame);
    await first(new Promise<void>((resolve) => socket.send(inputEndFrame, () => resolve())));
    // Output before the mark may still be waiting for a reader that is gone.
    socket.resume();
    if (marked) await first(marked.begun, ended);
  }
  const killWords = marked?.killWords;
  if (killWords) {
    // The limit may leave no connection for a second command.
    await hangUp(socket);
    const killer = await open(killWords, false).catch(() => undefined);
    if (killer) {
      await first(untilExit(killer));
      await hangUp(killer);
    }
  }
  late.abort();
}

/** Waits for the end of a command without input, whose output does not matter. */
async function untilExit(socket: WebSocket): Promise<void> {
  socket.on("error", () => {});
  socket.once("open", () => socket.send(inputEndFrame));
  socket.on("message", (raw: RawData) => {
    if (readExecFrame((raw as Buffer).toString("utf8")).kind === "exited") socket.terminate();
  });
  await once(socket, "close");
}

/** Writes the command's output at the reader's pace until the call is aborted. @returns its exit code */
function readOutput(socket: WebSocket, { io, what, marked }: Call, signal: AbortSignal): Promise<number> {
  return new Promise((resolve, reject) => {
    let exitCode: number | undefined;
    let blocked: Promise<void> | undefined;
    let failure: Error | undefined;
    // A message about a missing shell is not part of the command's output.
    let early: Buffer[] | undefined = marked ? [] : undefined;
    socket.on("message", (raw: RawData) => {
      let event: ReturnType<typeof readExecFrame>;
      try {
        event = readExecFrame((raw as Buffer).toString("utf8"));
      } catch (cause) {
        failure = new UnavailableError(`${what}: Nomad sent a frame that is not JSON`, { cause });
        return socket.terminate();
      }
      if (event.kind === "exited") {
        // The docker driver also reports 0 for a command that has not started yet, and for a command whose last output it has dropped.
        if (marked && marked.exitCode === undefined && event.exitCode === 0)
          failure = new UnavailableError(`${what}: Nomad reports that the command has succeeded, but the end of its output is missing`);
        else exitCode = marked?.exitCode ?? event.exitCode;
        // Nomad closes the connection only some time later.
        socket.terminate();
      }
      if (event.kind === "output") take(event.stream, event.data);
    });
    const take = (stream: "stdout" | "stderr", data: Buffer): void => {
      const own = (stream === "stderr" ? marked?.take(data) : marked?.takeOutput(data)) ?? data;
      if (early && stream === "stdout") early.push(own);
      else write(stream, own);
      if (marked?.hasBegun || sizeOf(early) > maxEarlyBytes) flush();
    };
    const flush = (): void => {
      if (early) write("stdout", Buffer.concat(early));
      early = undefined;
    };
    const write = (stream: "stdout" | "stderr", data: Buffer): void => {
      const target = io[stream];
      if (data.byteLength === 0 || signal.aborted || !target || target.destroyed || target.write(data)) return;
      socket.pause();
      // Messages that the socket has already read still arrive.
      blocked ??= drained(target).then(() => {
        blocked = undefined;
        socket.resume();
      });
    };
    socket.on("error", (cause) => (failure ??= new UnavailableError(`${what}: ${messageOf(cause)}`, { cause })));
    socket.on("unexpected-response", (_request, response) => {
      response.resume();
      failure =
        response.statusCode === 403
          ? refused(what, "Permission denied")
          : new UnavailableError(`${what}: Nomad answered ${response.statusCode}`);
      socket.terminate();
    });
    socket.on("close", (code, reason) => {
      const said = marked?.hasBegun === false && noShell.exec(`${String(reason)}${Buffer.concat(early ?? []).toString()}`);
      if (said) return reject(new NoShellError(said[0]));
      flush();
      const rest = marked?.rest();
      if (rest) for (const stream of ["stdout", "stderr"] as const) write(stream, rest[stream]);
      void Promise.resolve(blocked).then(() => {
        if (exitCode !== undefined) resolve(exitCode);
        else reject(failure ?? refused(what, String(reason) || `the connection broke off with code ${code}`));
      });
    });
  });
}

function sizeOf(chunks: readonly Buffer[] = []): number {
  return chunks.reduce((sum, { byteLength }) => sum + byteLength, 0);
}

/** Error for a connection that Nomad has accepted and then closed with a reason. */
function refused(what: string, reason: string): Error {
  if (/permission denied/i.test(reason))
    return new UnauthorizedError(`${what}: Nomad refuses: ${reason}; the token's policy needs alloc-exec`);
  if (/not found|unknown allocation|not running/i.test(reason)) return new NotFoundError(`${what}: ${reason}`);
  return new UnavailableError(`${what}: ${reason}`);
}

async function drained(target: Writable): Promise<void> {
  const over = new AbortController();
  await Promise.race([once(target, "drain", over), once(target, "close", over)]).catch(() => {});
  over.abort();
}

/** Forwards the client's input at Nomad's pace until the command ends. Never rejects. */
async function sendInput(socket: WebSocket, { io: { stdin, tty }, clock, marked }: Call, signal: AbortSignal): Promise<void> {
  const until = marked ? AbortSignal.any([signal, marked.over]) : signal;
  try {
    // If there is no shell, input sent before the command has started would be lost.
    if (stdin && marked) await untilAborted(marked.begun, until);
    for await (const chunk of stdin ? chunksOf(stdin, until) : []) {
      for (const frame of inputFrames(chunk)) socket.send(frame);
      while (socket.bufferedAmount > maxBufferedBytes) await clock.sleep(drainPauseMs, until);
    }
  } catch {
    // The command has ended, or the client is gone.
  }
  // Nomad's exec driver closes the terminal at the end of its input.
  if (!signal.aborted && !tty && socket.readyState === socket.OPEN) socket.send(inputEndFrame);
}

async function sendSizes(socket: WebSocket, { resizes, tty }: AttachIO, clock: Clock, signal: AbortSignal): Promise<void> {
  if (!tty) return;
  let latest: TerminalSize | undefined;
  const again = async (): Promise<void> => {
    for (const ms of sizeAgainMs) {
      await clock.sleep(ms, signal);
      if (latest) socket.send(sizeFrame(latest));
    }
  };
  void again().catch(() => {});
  const sizes = resizes[Symbol.asyncIterator]();
  const stopped = aborted(signal);
  try {
    for (let next = await Promise.race([sizes.next(), stopped]); next && !next.done; next = await Promise.race([sizes.next(), stopped])) {
      latest = next.value;
      socket.send(sizeFrame(latest));
    }
  } catch {
    // The command has ended.
  }
  if (signal.aborted) void sizes.return?.();
}

async function beat(socket: WebSocket, clock: Clock, signal: AbortSignal): Promise<void> {
  try {
    for (;;) {
      await clock.sleep(heartbeatMs, signal);
      socket.send(heartbeatFrame);
    }
  } catch {
    // The command has ended.
  }
}

function aborted(signal: AbortSignal): Promise<undefined> {
  if (signal.aborted) return Promise.resolve(undefined);
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(undefined), { once: true }));
}
