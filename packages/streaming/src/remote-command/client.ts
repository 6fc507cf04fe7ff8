import type { Clock } from "@virtual-kubelet/clock";
import { resolveLimits, type StreamingLimits } from "../limits.ts";
import { SpdyConnection } from "../spdy/connection.ts";
import { dialSpdy } from "../upgrade/dial-spdy.ts";
import type { UpgradedConnection, UpgradeTarget } from "../upgrade/target.ts";
import { isRefusal } from "../upgrade/upgrade-refused-error.ts";
import { type DialedWebSocket, dialWebSocket } from "../websocket/dial-web-socket.ts";
import { WebSocketChannels } from "../websocket/web-socket-channels.ts";
import { channelNumbers } from "./channel-numbers.ts";
import { runSession } from "./client-wires.ts";
import type { RemoteCommandIO } from "./command-io.ts";
import type { RemoteCommandResult } from "./result.ts";

export interface RemoteCommandClientOptions extends RemoteCommandIO {
  /** Default: WebSocket, or SPDY if that is refused. */
  readonly transport?: "websocket-or-spdy" | "websocket" | "spdy" | undefined;
  readonly clock: Clock;
  readonly limits?: StreamingLimits | undefined;
  /** Interval between pings, in milliseconds. The connection is closed after a minute without any answer. Default: 5,000. */
  readonly pingMs?: number | undefined;
  /** Ends the session; the command loses its streams. */
  readonly signal?: AbortSignal | undefined;
}

/** Versions that API servers and kubectl offer. */
const spdyVersions = ["v5.channel.k8s.io", "v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io"];

/** Version 4 cannot signal the end of the input, so SPDY is preferred to it where it is possible. */
const webSocketVersions = ["v5.channel.k8s.io", "v4.channel.k8s.io"];

/** Source: client-go v0.36.3 remotecommand, both transports. */
const defaultPingMs = 5_000;

/**
 * Runs or attaches to a command through an API server or a kubelet, and resolves when it has ended.
 *
 * @param target - with the command and the streams in its query, such as `…/exec?command=sh&stdin=true&stdout=true`
 * @returns the exit code, or the error that the other side reports
 * @throws {@link UpgradeRefusedError} when the request was refused; UnavailableError when the connection failed or ended before the result
 * came; `signal.reason`
 */
export async function runRemoteCommand(target: UpgradeTarget, options: RemoteCommandClientOptions): Promise<RemoteCommandResult> {
  const { transport = "websocket-or-spdy", clock, signal } = options;
  if (transport !== "spdy") {
    const offers = transport === "websocket" ? webSocketVersions : webSocketVersions.slice(0, 1);
    const dialed = await dialWebSocket(target, offers, { clock, signal }).catch((error: unknown) => {
      if (transport === "websocket" || !isRefusal(error)) throw error;
    });
    if (dialed !== undefined) return runOverWebSocket(dialed, options);
  }
  return runRemoteCommandOver(await dialSpdy(target, spdyVersions, { clock, signal }), options);
}

/**
 * {@link runRemoteCommand} over a connection that was already upgraded to SPDY.
 *
 * @throws UnavailableError when the connection failed or ended before the result came; `signal.reason`
 */
export async function runRemoteCommandOver(
  { socket, head, protocol }: UpgradedConnection,
  options: RemoteCommandClientOptions,
): Promise<RemoteCommandResult> {
  const { clock, signal, pingMs = defaultPingMs } = options;
  const connection = new SpdyConnection(socket, { role: "client", clock, limits: resolveLimits(options.limits), head, pingMs });
  const open = (type: string, wanted: unknown): ReturnType<SpdyConnection["open"]> | undefined =>
    wanted === undefined || wanted === false ? undefined : connection.open(new Map([["streamtype", type]]));
  const resizable = options.tty === true && /^v[345]\./.test(protocol);
  const onAbort = (): void => void connection.close();
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    signal?.throwIfAborted();
    // In the order of Go's client. The kubelet starts the command only when all streams are open.
    const [error, stdin, stdout, stderr, resize] = await Promise.all([
      connection.open(new Map([["streamtype", "error"]])),
      open("stdin", options.stdin),
      open("stdout", options.stdout),
      open("stderr", options.tty === true ? undefined : options.stderr),
      open("resize", resizable),
    ]);
    return await runSession({ protocol, stdin, stdout, stderr, resize, error, connection }, options, signal);
  } catch (error) {
    void connection.close();
    throw signal?.aborted === true ? signal.reason : error;
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
}

function runOverWebSocket({ webSocket, protocol }: DialedWebSocket, options: RemoteCommandClientOptions): Promise<RemoteCommandResult> {
  const { clock, signal, pingMs = defaultPingMs, tty = false } = options;
  const channels = new WebSocketChannels(webSocket, {
    codec: "binary",
    channels: Object.values(channelNumbers),
    halfClose: protocol === "v5.channel.k8s.io" ? "send" : "none",
    clock,
    limits: resolveLimits(options.limits),
    pingMs,
  });
  const channel = (name: keyof typeof channelNumbers, wanted: unknown): ReturnType<WebSocketChannels["channel"]> | undefined =>
    wanted === undefined || wanted === false ? undefined : channels.channel(channelNumbers[name]);
  const wires = {
    protocol,
    stdin: channel("stdin", options.stdin),
    stdout: channel("stdout", options.stdout),
    stderr: channel("stderr", tty ? undefined : options.stderr),
    resize: channel("resize", tty),
    error: channels.channel(channelNumbers.error),
    connection: { signal: channels.signal, close: () => channels.close(1000) },
  };
  for (const [name, number] of Object.entries(channelNumbers))
    if (name !== "error" && wires[name as "stdin"] === undefined) channels.channel(number).inbox.discard();
  return runSession(wires, options, signal);
}
