import { once } from "node:events";
import type { Writable } from "node:stream";
import type { AttachIO, Clock, ExecResult, TerminalSize } from "@virtual-kubelet/core";
import { messageOf, NotFoundError, UnauthorizedError, UnavailableError } from "@virtual-kubelet/errdefs";
import type { RawData, WebSocket } from "ws";
import { heartbeatFrame, inputEndFrame, inputFrames, readExecFrame, sizeFrame } from "../api/exec-frames.ts";
import type { NomadClient } from "../api/nomad-client.ts";
import type { PodEntry } from "../pods/pod-entry.ts";
import { runningAllocationOf } from "./task-of.ts";

/** A command in a container. */
export interface ExecInput {
  readonly client: Pick<NomadClient, "exec">;
  readonly clock: Clock;
  readonly entry: PodEntry;
  readonly container: string;
  readonly command: readonly string[];
  readonly io: AttachIO;
}

const heartbeatMs = 10_000;
/** A size that comes before the terminal is there is lost: it is sent again this long after the first output, and now and then before. */
const sizeAgainMs = [100, 200, 400, 800] as const;
/** How much input may wait in the socket. */
const maxBufferedBytes = 1024 * 1024;
const drainPauseMs = 10;
const ctrlC = 3;
const ctrlD = 4;

/** Runs a command in a container's task. @throws NotFoundError if it does not run; UnavailableError if the connection breaks */
export async function execInTask({ client, clock, entry, container, command, io }: ExecInput, signal: AbortSignal): Promise<ExecResult> {
  signal.throwIfAborted();
  const allocation = runningAllocationOf(entry, container);
  const what = `run a command in container ${container} of pod ${entry.shape.ref.namespace}/${entry.shape.ref.name}`;
  const socket = await client.exec(allocation, { task: container, tty: io.tty, command: JSON.stringify(command) });
  const over = new AbortController();
  const until = AbortSignal.any([signal, over.signal]);
  const onAbort = (): void => leave(socket, io);
  signal.addEventListener("abort", onAbort, { once: true });
  const ended = readOutput(socket, io, what);
  try {
    if (signal.aborted) leave(socket, io);
    else {
      await Promise.race([once(socket, "open", { signal: until }), ended]).catch(() => {});
      void sendInput(socket, io, clock, until);
      void sendSizes(socket, io, clock, until);
      void beat(socket, clock, until);
    }
    const exitCode = await ended;
    return { exitCode };
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    over.abort();
    signal.removeEventListener("abort", onAbort);
    socket.terminate();
  }
}

/**
 * Ends what can be ended: a command on a terminal hears of it as of Ctrl-C and Ctrl-D, one without finds its input ended. Nomad
 * notices that a connection has gone when the command writes something.
 */
function leave(socket: WebSocket, { tty }: AttachIO): void {
  if (socket.readyState !== socket.OPEN) return socket.terminate();
  if (tty) for (const frame of inputFrames(Buffer.from([ctrlC, ctrlD]))) socket.send(frame);
  socket.send(inputEndFrame, () => socket.terminate());
}

/** Writes the command's output at the reader's pace. @returns its exit code */
function readOutput(socket: WebSocket, io: AttachIO, what: string): Promise<number> {
  return new Promise((resolve, reject) => {
    let exitCode: number | undefined;
    let blocked: Promise<void> | undefined;
    let failure: Error | undefined;
    socket.on("message", (raw: RawData) => {
      let event: ReturnType<typeof readExecFrame>;
      try {
        event = readExecFrame((raw as Buffer).toString("utf8"));
      } catch (cause) {
        failure = new UnavailableError(`${what}: Nomad sent a frame that is no JSON`, { cause });
        return socket.terminate();
      }
      if (event.kind === "exited") {
        exitCode = event.exitCode;
        // Nomad breaks the connection off by itself, some time.
        socket.terminate();
      }
      if (event.kind !== "output") return;
      const target = io[event.stream];
      if (!target || target.destroyed || target.write(event.data)) return;
      socket.pause();
      // What was read already still comes.
      blocked ??= drained(target).then(() => {
        blocked = undefined;
        socket.resume();
      });
    });
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
      void Promise.resolve(blocked).then(() => {
        if (exitCode !== undefined) resolve(exitCode);
        else reject(failure ?? refused(what, String(reason) || `the connection broke off with code ${code}`));
      });
    });
  });
}

/** Nomad accepts the connection first, and says then why it does not want it. */
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

/** Hands the client's input on, at Nomad's pace. Never rejects: a command may end before its input does. */
async function sendInput(socket: WebSocket, { stdin }: AttachIO, clock: Clock, signal: AbortSignal): Promise<void> {
  try {
    if (stdin) {
      const iterator = stdin.iterator({ destroyOnReturn: false });
      const stopped = aborted(signal);
      for (;;) {
        const next = await Promise.race([iterator.next(), stopped]);
        if (!next || next.done) break;
        for (const frame of inputFrames(Buffer.from(next.value as Uint8Array))) socket.send(frame);
        while (socket.bufferedAmount > maxBufferedBytes) await clock.sleep(drainPauseMs, signal);
      }
    }
    if (!signal.aborted) socket.send(inputEndFrame);
  } catch {
    // The command has ended, or the client is gone.
  }
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
