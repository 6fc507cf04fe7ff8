import { DeadlineExceededError, UnavailableError } from "@virtual-kubelet/errdefs";
import { resolveLimits } from "../limits.ts";
import { SpdyConnection } from "../spdy/connection.ts";
import type { SpdyStream } from "../spdy/stream.ts";
import type { IncomingUpgrade } from "../upgrade/incoming-upgrade.ts";
import { acceptSpdy } from "../upgrade/spdy-handshake.ts";
import type { RemoteCommandServerOptions } from "./session.ts";
import type { SessionWires } from "./session-wires.ts";

/** Kubelets do not accept version 5 over SPDY. */
const versions = ["v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io"] as const;

const streamTypes = ["error", "stdin", "stdout", "stderr", "resize"] as const;

type StreamType = (typeof streamTypes)[number];

/** More than the number of stream types, for clients that open additional streams. */
const maxStreams = 8;

/** Accepts SPDY, and waits until the client has opened every stream that the request asks for. */
export async function acceptSpdyWires(upgrade: IncomingUpgrade, options: RemoteCommandServerOptions): Promise<SessionWires> {
  const { clock, tty } = options;
  const protocol = acceptSpdy(upgrade, versions, clock);
  const resizable = tty && (protocol === "v4.channel.k8s.io" || protocol === "v3.channel.k8s.io");
  const expected: StreamType[] = streamTypes.filter((type) => type === "error" || (type === "resize" ? resizable : options[type]));
  const limits = { ...resolveLimits(options.limits), maxStreams };
  const streams = new Map<StreamType, SpdyStream>();
  const complete = Promise.withResolvers<void>();
  const connection = new SpdyConnection(upgrade.socket, {
    role: "server",
    clock,
    limits,
    share: options.share,
    head: upgrade.head,
    admit: (headers) => {
      const type = headers.get("streamtype");
      return !streamTypes.some((each) => each === type && streams.has(each));
    },
    onStream: (stream) => {
      const type = expected.find((each) => each === stream.headers.get("streamtype"));
      if (type === undefined) return stream.inbox.discard();
      streams.set(type, stream);
      if (streams.size === expected.length) complete.resolve();
    },
  });
  using _timer = clock.setTimer(limits.streamOpenMs, () => {
    const missing = expected.filter((type) => !streams.has(type));
    const what = `wait for the client's streams: ${missing.join(", ")} not opened in ${limits.streamOpenMs} ms`;
    complete.reject(new DeadlineExceededError(what));
  });
  connection.signal.addEventListener("abort", () => {
    complete.reject(
      new UnavailableError("wait for the client's streams: the client has disconnected", { cause: connection.signal.reason }),
    );
  });
  try {
    await complete.promise;
  } catch (error) {
    void connection.close();
    for (const stream of streams.values()) stream.inbox.discard();
    throw error;
  }
  const error = streams.get("error");
  if (error === undefined) throw new UnavailableError("wait for the client's streams: there is no error stream");
  return {
    transport: "spdy",
    protocol,
    tty,
    stdin: streams.get("stdin"),
    stdout: streams.get("stdout"),
    stderr: streams.get("stderr"),
    resize: streams.get("resize"),
    error,
    connection,
  };
}
