import { InvalidInputError, UnavailableError } from "@virtual-kubelet/errdefs";
import { finished, pipeline } from "node:stream/promises";
import type { Readable, Writable } from "node:stream";
import type { Channel } from "../channel/channel.ts";
import { readableOf, writableOf } from "../channel/channel-streams.ts";
import type { RemoteCommandIO } from "./command-io.ts";
import { encodeSize } from "./resizes.ts";
import type { RemoteCommandResult } from "./result.ts";
import { fromStatusText } from "./status.ts";
import type { TerminalSize } from "./terminal-size.ts";

/** Limit for a status, which usually takes a few hundred bytes. */
const maxStatusBytes = 64 * 1024;

/** Channels of a client's session, independent of the transport. */
export interface ClientWires {
  /** Such as `v4.channel.k8s.io`. */
  readonly protocol: string;
  readonly stdin: Channel | undefined;
  readonly stdout: Channel | undefined;
  readonly stderr: Channel | undefined;
  readonly resize: Channel | undefined;
  readonly error: Channel;
  readonly connection: { readonly signal: AbortSignal; close(): Promise<void> };
}

/** Carries the streams until the command has ended. @returns its result */
export async function runSession(wires: ClientWires, io: RemoteCommandIO, signal: AbortSignal | undefined): Promise<RemoteCommandResult> {
  const { connection } = wires;
  const failed = Promise.withResolvers<never>();
  const onAbort = (): void => failed.reject(signal?.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  // It may be rejected after the race below is over.
  failed.promise.catch(() => undefined);
  try {
    signal?.throwIfAborted();
    sendInput(io.stdin, wires.stdin, (error) => failed.reject(error));
    sendSizes(io.resizes, wires).catch((error: unknown) => failed.reject(error));
    const done = Promise.all([readStatus(wires), takeOutput(wires.stdout, io.stdout), takeOutput(wires.stderr, io.stderr)]);
    const [result] = await Promise.race([done, failed.promise]);
    return result;
  } finally {
    signal?.removeEventListener("abort", onAbort);
    io.stdin?.destroy();
    void connection.close();
  }
}

/** Sends the source and its end. A command that accepts no more input is not a failure, but a failing source is. */
function sendInput(source: Readable | undefined, channel: Channel | undefined, fail: (error: Error) => void): void {
  if (channel === undefined) return;
  const target = writableOf(channel);
  if (source === undefined) return void target.end();
  // The pipeline destroys each side when the other one fails, so the first failure is the cause.
  let targetGone = false;
  target.once("close", () => (targetGone = true));
  target.once("error", () => (targetGone = true));
  source.on("error", (cause) => {
    if (!targetGone) fail(new UnavailableError("send a command its input: reading it failed", { cause }));
  });
  pipeline(source, target).catch(() => undefined);
}

async function sendSizes(sizes: AsyncIterable<TerminalSize> | undefined, { resize, connection }: ClientWires): Promise<void> {
  if (resize === undefined || sizes === undefined) return;
  const target = writableOf(resize);
  const iterator = sizes[Symbol.asyncIterator]();
  connection.signal.addEventListener("abort", () => void iterator.return?.().catch(() => undefined), { once: true });
  for (;;) {
    const next = await iterator.next();
    if (next.done === true || connection.signal.aborted) return;
    target.write(encodeSize(next.value));
  }
}

async function takeOutput(channel: Channel | undefined, target: Writable | undefined): Promise<void> {
  if (channel === undefined) return;
  const source = readableOf(channel, "end");
  if (target !== undefined) return pipeline(source, target, { end: false });
  source.resume();
  await finished(source);
}

/** Reads the error stream, whose end ends the session in every version. */
function readStatus({ error, protocol, connection }: ClientWires): Promise<RemoteCommandResult> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let length = 0;
    const end = (lost: Error | undefined): void => {
      const text = Buffer.concat(parts).toString("utf8");
      const inJson = /^v[45]\./.test(protocol);
      if (text === "" && lost !== undefined && (inJson || connection.signal.aborted))
        reject(new UnavailableError("wait for a command to end: the connection was lost before its result came", { cause: lost }));
      else if (inJson) resolve(fromStatusText(text));
      else resolve(text === "" ? { exitCode: 0 } : { error: text });
    };
    const take = (chunk: Buffer | undefined): void => {
      if (chunk === undefined) return end(undefined);
      length += chunk.length;
      if (length > maxStatusBytes)
        return reject(new InvalidInputError(`wait for a command to end: its result is longer than ${maxStatusBytes} bytes`));
      parts.push(chunk);
      error.inbox.take(take);
    };
    // Received data takes precedence over the loss of the connection.
    error.inbox.take(take);
    error.whenLost(end);
  });
}
