import type { Channel } from "../channel/channel.ts";
import { readableOf, writableOf } from "../channel/channel-streams.ts";
import { LatestSizes } from "./latest-sizes.ts";
import { ResizeParser } from "./resizes.ts";
import type { RemoteCommandResult } from "./result.ts";
import type { RemoteCommandProtocol, RemoteCommandSession } from "./session.ts";
import { toStatus } from "./status.ts";

/** Channels of a server's session, independent of the transport. */
export interface SessionWires {
  readonly transport: "spdy" | "websocket";
  readonly protocol: RemoteCommandProtocol;
  readonly tty: boolean;
  readonly stdin: Channel | undefined;
  readonly stdout: Channel | undefined;
  readonly stderr: Channel | undefined;
  readonly resize: Channel | undefined;
  readonly error: Channel;
  readonly connection: {
    readonly signal: AbortSignal;
    readonly closed: Promise<void>;
    readonly lastActiveMs: number;
    closeWhenRead(): Promise<void>;
  };
}

/** Creates the session once all channels are open. */
export function createSession(wires: SessionWires): RemoteCommandSession {
  const { connection, tty } = wires;
  const gone = new AbortController();
  const stdout = wires.stdout && writableOf(wires.stdout);
  const stderr = wires.stderr && writableOf(wires.stderr);
  const resizes = followSizes(wires.resize, connection.signal);
  wires.error.inbox.discard();
  let finishing = false;
  whenAborted(connection.signal, () => {
    if (!finishing) gone.abort(connection.signal.reason);
  });

  const finish = async (result: RemoteCommandResult): Promise<void> => {
    if (connection.signal.aborted) return;
    wires.stdin?.inbox.end();
    resizes.end();
    await Promise.all([stdout, stderr].map((output) => ended(output)));
    finishing = true;
    sendStatus(wires, result);
    await connection.closeWhenRead();
  };

  let finished: Promise<void> | undefined;
  return {
    transport: wires.transport,
    protocol: wires.protocol,
    stdin: wires.stdin && readableOf(wires.stdin),
    stdout,
    stderr,
    tty,
    resizes,
    get lastActiveMs() {
      return connection.lastActiveMs;
    },
    signal: gone.signal,
    closed: connection.closed,
    finish: (result) => (finished ??= finish(result)),
    async [Symbol.asyncDispose]() {
      await (finished ??= finish({ error: "the session was dropped before the command had ended" }));
    },
  };
}

function whenAborted(signal: AbortSignal, then: () => void): void {
  if (signal.aborted) then();
  else signal.addEventListener("abort", then, { once: true });
}

function followSizes(channel: Channel | undefined, over: AbortSignal): LatestSizes {
  const sizes = new LatestSizes();
  whenAborted(over, () => sizes.end());
  if (channel === undefined) return sizes;
  const parser = new ResizeParser();
  const take = (chunk: Buffer | undefined): void => {
    if (chunk === undefined) return sizes.end();
    for (const size of parser.push(chunk)) sizes.set(size);
    channel.inbox.take(take);
  };
  channel.inbox.take(take);
  return sizes;
}

/** Ends an output, and waits until it is sent or lost. */
function ended(
  output: (NodeJS.WritableStream & { readonly destroyed?: boolean; readonly writableFinished?: boolean }) | undefined,
): Promise<void> {
  if (output === undefined || output.destroyed === true || output.writableFinished === true) return Promise.resolve();
  return new Promise((resolve) => {
    output.once("finish", resolve);
    output.once("close", resolve);
    output.end();
  });
}

/** Versions 4 and 5 send a JSON status, for success as well; older versions send only the text of a failure. */
function sendStatus({ protocol, error }: SessionWires, result: RemoteCommandResult): void {
  const status = toStatus(result);
  const inJson = /^v[45]\./.test(protocol);
  const text = inJson ? JSON.stringify(status) : status.status === "Success" ? "" : (status.message ?? "the command failed");
  // The socket preserves the order, and closing waits for clients that do not read.
  if (text !== "") error.send([Buffer.from(text)], () => undefined);
  error.end(() => undefined);
}
