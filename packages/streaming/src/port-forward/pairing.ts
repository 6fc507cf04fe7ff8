import type { Clock } from "@virtual-kubelet/clock";
import { duplexOf } from "../channel/channel-streams.ts";
import type { SpdyHeaders } from "../spdy/header-block.ts";
import type { SpdyStream } from "../spdy/stream.ts";
import { dropSignal } from "./drop-signal.ts";
import { parsePort } from "./ports.ts";
import type { PortForwardConnection } from "./session.ts";

/** Streams of one connection, of which one is still missing. */
interface Pair {
  error?: SpdyStream;
  data?: SpdyStream;
  readonly timer: Disposable;
}

export interface PairingOptions {
  readonly clock: Clock;
  /** Time for the second stream of a pair to arrive. */
  readonly pairMs: number;
  onConnection(connection: PortForwardConnection): void;
}

/**
 * Whether a stream's headers have a valid port and type; other streams are reset.
 *
 * Source for this file: kubernetes v1.36.3 k8s.io/cri-streaming portforward/httpstream.go.
 */
export function isForwardStream(headers: SpdyHeaders): boolean {
  const type = headers.get("streamtype");
  return (parsePort(headers.get("port") ?? "") ?? 0) > 0 && (type === "error" || type === "data");
}

/** Pairs the error stream and the data stream with the same request ID into a connection. */
export class StreamPairing implements Disposable {
  readonly #options: PairingOptions;
  readonly #pairs = new Map<string, Pair>();

  constructor(options: PairingOptions) {
    this.#options = options;
  }

  /** Adds a stream that {@link isForwardStream} accepts. */
  add(stream: SpdyStream): void {
    const type = stream.headers.get("streamtype") === "error" ? "error" : "data";
    // Old clients send no ID, and open the data stream right after its error stream.
    const id = stream.headers.get("requestid") ?? String(type === "error" ? stream.id : stream.id - 2);
    const pair = this.#pairs.get(id) ?? this.#open(id);
    if (type === "error") stream.inbox.discard();
    if (pair[type] !== undefined) {
      say(pair.error, `error processing stream for request ${id}: ${type} stream already assigned`);
      return stream.cancel();
    }
    pair[type] = stream;
    if (pair.error === undefined || pair.data === undefined) return;
    this.#forget(id, pair);
    this.#options.onConnection(toConnection(pair.error, pair.data));
  }

  /** Drops incomplete pairs. */
  [Symbol.dispose](): void {
    for (const [id, pair] of this.#pairs) {
      this.#forget(id, pair);
      pair.data?.inbox.discard();
    }
  }

  #open(id: string): Pair {
    const { clock, pairMs } = this.#options;
    const pair: Pair = {
      timer: clock.setTimer(pairMs, () => {
        this.#forget(id, pair);
        say(pair.error, `(request=${id}) timed out waiting for streams`);
        pair.data?.cancel();
      }),
    };
    this.#pairs.set(id, pair);
    return pair;
  }

  #forget(id: string, pair: Pair): void {
    pair.timer[Symbol.dispose]();
    this.#pairs.delete(id);
  }
}

function say(error: SpdyStream | undefined, text: string): void {
  error?.send([Buffer.from(text)], () => error.end(() => undefined));
}

function toConnection(error: SpdyStream, data: SpdyStream): PortForwardConnection {
  const stream = duplexOf(data);
  // The client waits for the end of the error stream after it has read all data.
  const endError = (): void => error.end(() => undefined);
  stream.once("finish", endError);
  stream.once("close", endError);
  return {
    port: parsePort(data.headers.get("port") ?? "") ?? 0,
    stream,
    signal: dropSignal(stream),
    fail: (message) => {
      stream.off("finish", endError).off("close", endError);
      error.send([Buffer.from(message)], () => {
        stream.destroy();
        error.cancel();
      });
    },
  };
}
