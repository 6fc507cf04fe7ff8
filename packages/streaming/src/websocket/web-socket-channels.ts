import type { Clock } from "@virtual-kubelet/clock";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import type { RawData, WebSocket } from "ws";
import { HeldBytes, type StreamingShare } from "../budget/connection-budget.ts";
import type { Channel, SendCallback } from "../channel/channel.ts";
import { ConnectionWatch } from "../channel/connection-watch.ts";
import { Linger } from "../channel/linger.ts";
import { ReadGate } from "../channel/read-gate.ts";
import { Inbox } from "../channel/inbox.ts";
import type { ResolvedLimits } from "../limits.ts";

/** First byte of a message that ends a channel, whose number follows. Version 5 only. */
const closeSignal = 255;

/** Larger chunks are split. */
const maxMessageBytes = 64 * 1024;

/** Time for the peer to close after an error, or to answer a close that does not wait. */
const lingerMs = 10_000;

/** Interval of pings while the peer is not read. */
const stallPingMs = 2_000;

/** All channels together may buffer as much as this number of full ones. */
const fullChannels = 16;

export interface WebSocketChannelsOptions {
  /** `base64`: text messages with the channel as a digit and the data in base64. */
  readonly codec: "binary" | "base64";
  /** Numbers of the existing channels; messages for others are dropped. */
  readonly channels: readonly number[];
  /** In version 5, clients send the end of a direction (`send`) and servers act on it (`receive`). Violations end the connection. */
  readonly halfClose: "none" | "send" | "receive";
  readonly clock: Clock;
  readonly limits: ResolvedLimits;
  /** Share in budgets of the process. Default: only the connection's own limits apply. */
  readonly share?: StreamingShare | undefined;
  /**
   * Interval between pings; the connection then ends after a minute of silence. Default: pings are sent only while the peer is not read.
   */
  readonly pingMs?: number | undefined;
}

interface NumberedChannel extends Channel {
  lose(error: Error): void;
}

/**
 * Channels over a paused WebSocket. Each message starts with the number of its channel.
 *
 * Source: kubernetes v1.36.3 k8s.io/streaming wsstream/conn.go.
 */
export class WebSocketChannels {
  /** Aborts when the connection is lost or closed. */
  readonly signal: AbortSignal;
  /** Resolves when the socket is closed. */
  readonly closed: Promise<void>;
  readonly #webSocket: WebSocket;
  readonly #options: WebSocketChannelsOptions;
  readonly #channels: ReadonlyMap<number, NumberedChannel>;
  readonly #over = new AbortController();
  /** Reasons for not reading: numbers of full channels, or all of them together. */
  readonly #gate: ReadGate<number | "held">;
  readonly #held: HeldBytes;
  readonly #watch: ConnectionWatch;
  #lastActiveMs: number;
  /** Set by {@link closeWhenRead}. */
  #linger: Linger | undefined;

  constructor(webSocket: WebSocket, options: WebSocketChannelsOptions) {
    this.#webSocket = webSocket;
    this.#options = options;
    this.signal = this.#over.signal;
    this.#lastActiveMs = options.clock.monotonic();
    this.#gate = new ReadGate(webSocket);
    this.#held = new HeldBytes(options.limits.streamBufferBytes * fullChannels, options.share?.bytes);
    this.#channels = new Map(options.channels.map((number) => [number, this.#open(number)]));
    this.#watch = new ConnectionWatch({
      clock: options.clock,
      everyMs: options.pingMs ?? stallPingMs,
      idleMs: options.limits.idleMs,
      silenceMs: options.pingMs === undefined ? undefined : 60_000,
      alwaysPing: options.pingMs !== undefined,
      isHeld: () => {
        // Other connections may have freed shared buffer in the meantime.
        this.#holdWhileFull();
        return this.#gate.held;
      },
      ping: () => this.#ping(),
      onExpired: (why) => this.destroy(new UnavailableError(`the WebSocket was closed: ${why}`)),
    });
    this.closed = new Promise((resolve) => {
      webSocket.once("close", (code) => {
        this.#lose(new UnavailableError(`the WebSocket was closed by the other side with code ${code}`));
        resolve();
      });
    });
    webSocket.on("error", (error) => {
      this.#lose(new UnavailableError("the WebSocket was lost", { cause: error }));
      this.#terminateUnlessClosed();
    });
    webSocket.on("message", (data, isBinary) => this.#receive(asBuffer(data), isBinary));
    webSocket.on("ping", () => this.#heard());
    webSocket.on("pong", () => this.#heard());
    webSocket.resume();
  }

  /** Time when a message was last sent or received, on the clock's monotonic time. */
  get lastActiveMs(): number {
    return this.#lastActiveMs;
  }

  channel(number: number): Channel {
    const channel = this.#channels.get(number);
    if (channel === undefined) throw new RangeError(`there is no channel ${number}`);
    return channel;
  }

  /** Sends an empty message on a channel. Clients wait for one to know that the connection is established. */
  greet(number: number): void {
    this.#write(number, Buffer.alloc(0), () => undefined);
  }

  /** Closes the WebSocket after all data has been sent. Resolves when the socket is closed, within ten seconds. */
  close(code: number): Promise<void> {
    if (!this.signal.aborted) {
      this.#webSocket.close(code);
      this.#terminateUnlessClosed();
      this.#lose(new UnavailableError("the WebSocket was closed"));
    }
    return this.closed;
  }

  /** Like {@link close}, but waits until the peer has read everything, however slowly, and answers the close. */
  closeWhenRead(code: number): Promise<void> {
    if (!this.signal.aborted) {
      const { clock, limits } = this.#options;
      this.#webSocket.close(code);
      const linger = new Linger(clock, { atMostMs: limits.idleMs, onExpired: () => this.#webSocket.terminate() });
      this.#linger = linger;
      void this.closed.then(() => linger[Symbol.dispose]());
      this.#lose(new UnavailableError("the WebSocket was closed"));
    }
    return this.closed;
  }

  /** Closes the socket immediately. */
  destroy(error: Error): void {
    this.#lose(error);
    this.#webSocket.terminate();
  }

  #terminateUnlessClosed(): void {
    const timer = this.#options.clock.setTimer(lingerMs, () => this.#webSocket.terminate());
    void this.closed.then(() => timer[Symbol.dispose]());
  }

  #heard(): void {
    this.#watch.heard();
    this.#linger?.heard();
  }

  #open(number: number): NumberedChannel {
    const { streamBufferBytes } = this.#options.limits;
    let ended = false;
    let onLost: ((error: Error) => void) | undefined;
    const channel: NumberedChannel = {
      inbox: new Inbox(
        streamBufferBytes,
        (full) => (full ? this.#gate.hold(number) : this.#gate.release(number)),
        (change) => {
          this.#held.add(change);
          this.#holdWhileFull();
        },
      ),
      send: (chunks, sent) => {
        if (ended) sent(new UnavailableError(`send on channel ${number}: it has ended`));
        else this.#send(number, chunks, sent);
      },
      end: (sent) => {
        if (ended || this.#options.halfClose !== "send" || this.signal.aborted) sent();
        else this.#webSocket.send(Buffer.from([closeSignal, number]), { binary: true }, (error) => sent(error));
        ended = true;
      },
      cancel: () => {
        ended = true;
        channel.inbox.discard();
      },
      whenLost: (listener) => {
        onLost = listener;
        if (this.signal.aborted) listener(this.#reason());
      },
      lose: (error) => onLost?.(error),
    };
    return channel;
  }

  #holdWhileFull(): void {
    if (this.signal.aborted) return;
    if (!this.#held.hasRoom) this.#gate.hold("held");
    else if (this.#gate.isHeldFor("held")) this.#gate.release("held");
  }

  #receive(message: Buffer, isBinary: boolean): void {
    this.#heard();
    this.#lastActiveMs = this.#options.clock.monotonic();
    if (message.length === 0 || this.signal.aborted) return;
    const { codec, halfClose } = this.#options;
    const [first = 0, second] = message;
    if (halfClose === "receive" && first === closeSignal) {
      const target = second === undefined || message.length !== 2 ? undefined : this.#channels.get(second);
      if (target === undefined) return this.destroy(new UnavailableError("the WebSocket was dropped: a close signal names no channel"));
      return target.inbox.end();
    }
    if (codec === "base64") {
      if (!isBinary) this.#channels.get(first - 0x30)?.inbox.add(Buffer.from(message.toString("latin1", 1), "base64"));
    } else this.#channels.get(first)?.inbox.add(message.subarray(1));
  }

  #send(number: number, chunks: readonly Buffer[], sent: SendCallback): void {
    const [only = Buffer.alloc(0), ...more] = chunks;
    const data = more.length === 0 ? only : Buffer.concat(chunks);
    let start = 0;
    for (; start + maxMessageBytes < data.length; start += maxMessageBytes)
      this.#write(number, data.subarray(start, start + maxMessageBytes), () => undefined);
    this.#write(number, data.subarray(start), sent);
  }

  #write(number: number, data: Buffer, sent: SendCallback): void {
    if (this.signal.aborted) return sent(this.#reason());
    this.#watch.sent();
    this.#lastActiveMs = this.#options.clock.monotonic();
    if (this.#options.codec === "base64") {
      const text = String.fromCharCode(0x30 + number) + data.toString("base64");
      this.#webSocket.send(text, (error) => sent(error));
    } else {
      const message = Buffer.allocUnsafe(data.length + 1);
      message.writeUInt8(number, 0);
      data.copy(message, 1);
      this.#webSocket.send(message, { binary: true }, (error) => sent(error));
    }
  }

  #ping(): void {
    if (this.#webSocket.readyState === this.#webSocket.OPEN) this.#webSocket.ping();
  }

  #lose(error: Error): void {
    if (this.signal.aborted) return;
    this.#over.abort(error);
    this.#watch[Symbol.dispose]();
    for (const channel of this.#channels.values()) channel.lose(error);
    this.#gate.open();
  }

  #reason(): Error {
    const { reason } = this.signal as { reason: unknown };
    return reason instanceof Error ? reason : new UnavailableError("the WebSocket is over");
  }
}

/** Messages are Buffers with the default `binaryType`. */
function asBuffer(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}
