import type { Clock } from "@virtual-kubelet/clock";
import { InvalidInputError, UnavailableError } from "@virtual-kubelet/errdefs";
import type { Duplex } from "node:stream";
import { ConnectionWatch } from "../channel/connection-watch.ts";
import { Linger } from "../channel/linger.ts";
import { ReadGate } from "../channel/read-gate.ts";
import { tuneSocket } from "../channel/tune-socket.ts";
import { HeldBytes, type StreamingShare } from "../budget/connection-budget.ts";
import type { ResolvedLimits } from "../limits.ts";
import { FrameDecoder } from "./frame-decoder.ts";
import { FrameWriter } from "./frame-writer.ts";
import {
  encodeGoAway,
  encodePing,
  encodeRstStream,
  encodeSynReply,
  encodeSynStream,
  goAwayStatus,
  resetStatus,
  type SpdyFrame,
} from "./frames.ts";
import { HeaderDeflater, HeaderInflater, type SpdyHeaders } from "./header-block.ts";
import { SpdyStream, type StreamCarrier } from "./stream.ts";

/** Time for the peer to close after the socket was ended. */
const lingerMs = 10_000;

/** Interval of pings while the peer is not read. */
const stallPingMs = 2_000;

/** All streams together may buffer as much as this number of full ones. */
const fullStreams = 16;

export interface SpdyConnectionOptions {
  readonly role: "server" | "client";
  readonly clock: Clock;
  readonly limits: ResolvedLimits;
  /** Share in budgets of the process. Default: only the connection's own limits apply. */
  readonly share?: StreamingShare | undefined;
  /** Bytes that were already read. */
  readonly head?: Buffer | undefined;
  /**
   * Interval between pings; the connection then ends after a minute of silence. Default: pings are sent only while the peer is not read.
   */
  readonly pingMs?: number | undefined;
  /** Whether to accept a stream that the peer opens; others are reset. Default: none is accepted. */
  admit?(headers: SpdyHeaders): boolean;
  /** Called with a stream that was accepted and answered. */
  onStream?(stream: SpdyStream): void;
}

interface PendingOpen {
  readonly stream: SpdyStream;
  settle(error?: Error): void;
}

/**
 * SPDY/3.1 connection as Kubernetes uses it: streams with a few headers, and no flow control except TCP's. An error of the peer ends only
 * this connection. Use {@link close} to end it normally.
 */
export class SpdyConnection {
  /** Aborts when the connection is lost or closed. */
  readonly signal: AbortSignal;
  /** Resolves when the socket is closed. */
  readonly closed: Promise<void>;
  readonly #socket: Duplex;
  readonly #options: SpdyConnectionOptions;
  readonly #decoder: FrameDecoder = new FrameDecoder();
  readonly #inflater: HeaderInflater = new HeaderInflater();
  readonly #deflater: HeaderDeflater = new HeaderDeflater();
  readonly #streams = new Map<number, SpdyStream>();
  readonly #pending = new Map<number, PendingOpen>();
  /** Reasons for not reading: IDs of full streams, and states of the connection. */
  readonly #gate: ReadGate<number | "headers" | "backlog" | "held">;
  readonly #writer: FrameWriter;
  readonly #carrier: StreamCarrier;
  readonly #watch: ConnectionWatch;
  readonly #over = new AbortController();
  #lastActiveMs: number;
  #nextId: number;
  #lastPeerId = 0;
  readonly #held: HeldBytes;
  #goneAway = false;
  #finished: Error | undefined;
  #ending = false;
  /** Set by {@link closeWhenRead}. */
  #linger: Linger | undefined;
  #lastPingId: number | undefined;

  constructor(socket: Duplex, options: SpdyConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    const first = options.role === "client" ? 1 : 2;
    this.#nextId = first;
    this.#gate = new ReadGate(socket);
    this.#held = new HeldBytes(options.limits.streamBufferBytes * fullStreams, options.share?.bytes);
    this.#writer = new FrameWriter(socket, first, (full) => (full ? this.#gate.hold("backlog") : this.#gate.release("backlog")));
    this.signal = this.#over.signal;
    this.#lastActiveMs = options.clock.monotonic();
    this.#carrier = {
      streamBufferBytes: options.limits.streamBufferBytes,
      sendData: (id, chunks, fin, sent) => {
        if (this.signal.aborted) return sent(this.#reason());
        this.#watch.sent();
        this.#lastActiveMs = options.clock.monotonic();
        this.#writer.data(id, { chunks, fin }, sent);
      },
      sendReset: (id) => this.#sendControl(encodeRstStream(id, resetStatus.cancel)),
      setFull: (id, full) => (full ? this.#gate.hold(id) : this.#gate.release(id)),
      addHeld: (change) => {
        this.#held.add(change);
        this.#holdWhileFull();
      },
      forget: (id) => this.#forget(id),
    };
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
      ping: () => this.#writer.pingIfIdle(),
      onExpired: (why) => this.destroy(new UnavailableError(`the SPDY connection was closed: ${why}`)),
    });
    this.closed = new Promise((resolve) => {
      socket.once("close", () => {
        this.#finish(new UnavailableError("the SPDY connection was closed by the other side"));
        resolve();
      });
    });
    this.#listen();
  }

  /** Time when data was last sent or received, on the clock's monotonic time. */
  get lastActiveMs(): number {
    return this.#lastActiveMs;
  }

  /** Number of streams that are open in at least one direction. */
  get streamCount(): number {
    return this.#streams.size;
  }

  /**
   * Opens a stream and waits for the peer to accept it.
   *
   * @throws UnavailableError when the stream is reset, the peer does not answer in time, or the connection is over
   */
  open(headers: SpdyHeaders): Promise<SpdyStream> {
    if (this.signal.aborted || this.#goneAway)
      return Promise.reject(new UnavailableError("open a stream: the SPDY connection is over", { cause: this.signal.reason }));
    const id = this.#nextId;
    this.#nextId += 2;
    const stream = new SpdyStream(id, headers, this.#carrier);
    this.#streams.set(id, stream);
    return new Promise((resolve, reject) => {
      const { clock, limits } = this.#options;
      const settle = (error?: Error): void => {
        timer[Symbol.dispose]();
        if (!this.#pending.delete(id)) return;
        if (error === undefined) return resolve(stream);
        stream.cancel();
        reject(error);
      };
      const timer = clock.setTimer(limits.streamOpenMs, () =>
        settle(new UnavailableError(`open stream ${id}: no answer in ${limits.streamOpenMs} ms`)),
      );
      this.#pending.set(id, { stream, settle });
      this.#watch.sent();
      this.#sendControl(encodeSynStream(id, this.#deflater.deflate(headers)));
    });
  }

  /**
   * Resets open streams, sends GOAWAY, and closes the socket after all data has been sent. Data of streams that were ended before is
   * delivered completely, unless the peer takes longer than ten seconds. Resolves when the socket is closed.
   */
  close(): Promise<void> {
    if (!this.signal.aborted) {
      this.#sayGoodbye();
      this.#end();
    }
    return this.closed;
  }

  /**
   * Like {@link close}, but ends the socket only after the peer has read everything, however slowly, as shown by its answer to a ping, its
   * GOAWAY or its end. An API server in between closes the client's connection as soon as ours ends, even if the client has not read
   * everything.
   */
  closeWhenRead(): Promise<void> {
    if (this.signal.aborted || this.#goneAway) return this.close();
    const { clock, limits } = this.#options;
    this.#lastPingId = this.#writer.ping();
    this.#sayGoodbye();
    const linger = new Linger(clock, { atMostMs: limits.idleMs, onExpired: () => this.#socket.destroy() });
    this.#linger = linger;
    this.#socket.once("close", () => linger[Symbol.dispose]());
    return this.closed;
  }

  /** Closes the socket immediately. */
  destroy(error: Error): void {
    this.#lose(error);
    this.#socket.destroy();
  }

  #listen(): void {
    const { head } = this.#options;
    const socket = this.#socket;
    tuneSocket(socket);
    socket.on("error", (error) => this.#finish(new UnavailableError("the SPDY connection was lost", { cause: error })));
    socket.on("end", () => this.#finish(new UnavailableError("the SPDY connection was ended by the other side")));
    if (head !== undefined) this.#decoder.push(head);
    socket.on("data", (chunk: Buffer) => {
      this.#decoder.push(chunk);
      this.#watch.heard();
      this.#linger?.heard();
      this.#pump();
    });
    if (head !== undefined && head.length > 0) queueMicrotask(() => this.#pump());
  }

  /** Processes received data until a header block must be waited for. */
  #pump(): void {
    try {
      while (!this.#gate.isHeldFor("headers") && !this.signal.aborted) {
        const frame = this.#decoder.next();
        if (frame === undefined) break;
        this.#receive(frame);
      }
    } catch (error) {
      this.#fail(error);
    }
    if (this.signal.aborted) while (this.#drop());
    if (this.#finished === undefined || this.#gate.isHeldFor("headers")) return;
    this.#lose(this.#finished);
    this.#end();
  }

  /** Handles the end of received data. Earlier data is still valid, and may contain the result. */
  #finish(why: Error): void {
    this.#finished ??= why;
    this.#pump();
  }

  /** After the end: reads and drops input, because closing with unread input sends a reset that can destroy sent data. */
  #drop(): boolean {
    try {
      const frame = this.#decoder.next();
      if (frame === undefined) return false;
      if (this.#showsAllWasRead(frame)) this.#end();
      return true;
    } catch {
      this.#socket.destroy();
      return false;
    }
  }

  #receive(frame: SpdyFrame): void {
    switch (frame.kind) {
      case "synStream":
        return this.#readHeaders(frame.block, (headers) => this.#accept(frame.id, frame.fin, headers));
      case "synReply":
        return this.#readHeaders(frame.block, () => this.#replied(frame.id, frame.fin));
      case "headers":
        return this.#readHeaders(frame.block, () => this.#streams.get(frame.id)?.receive(Buffer.alloc(0), frame.fin));
      case "data":
        this.#lastActiveMs = this.#options.clock.monotonic();
        return this.#streams.get(frame.id)?.receive(frame.data, frame.fin);
      case "rstStream":
        return this.#reset(frame.id, frame.status);
      case "ping":
        if (!this.#writer.isOwnPing(frame.id)) this.#sendControl(encodePing(frame.id));
        return;
      case "goAway":
        this.#goneAway = true;
        return this.#closeIfLeft();
      case "ignored":
        return;
      default:
        frame satisfies never;
    }
  }

  #readHeaders(block: Buffer, then: (headers: SpdyHeaders) => void): void {
    this.#gate.hold("headers");
    this.#inflater.inflate(block, (error, headers) => {
      if (error !== undefined || headers === undefined) return this.#fail(error);
      try {
        then(headers);
      } catch (failure) {
        return this.#fail(failure);
      }
      this.#gate.release("headers");
      this.#pump();
    });
  }

  #accept(id: number, fin: boolean, headers: SpdyHeaders): void {
    if (this.#goneAway) return;
    if (this.#isMine(id) || id <= this.#lastPeerId) return this.#sendControl(encodeRstStream(id, resetStatus.protocolError));
    this.#lastPeerId = id;
    if (this.#options.admit?.(headers) !== true) return this.#sendControl(encodeRstStream(id, resetStatus.cancel));
    if (!this.#takeStream()) return this.#sendControl(encodeRstStream(id, resetStatus.refusedStream));
    const stream = new SpdyStream(id, headers, this.#carrier);
    this.#streams.set(id, stream);
    // Go's clients drop data that arrives before the reply.
    this.#sendControl(encodeSynReply(id, this.#deflater.deflate(new Map())));
    if (fin) stream.receive(Buffer.alloc(0), true);
    this.#options.onStream?.(stream);
  }

  #isMine(id: number): boolean {
    return id % 2 === this.#nextId % 2;
  }

  #replied(id: number, fin: boolean): void {
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    if (fin) pending.stream.receive(Buffer.alloc(0), true);
    pending.settle();
  }

  /** Counts one more stream of the peer. @returns whether there is room for it */
  #takeStream(): boolean {
    const { limits, share } = this.#options;
    const full =
      this.#streams.size >= limits.maxStreams ? "maxStreams" : share?.streams?.tryTake(1) === false ? "maxSharedStreams" : undefined;
    if (full !== undefined) share?.onLimit?.(full);
    return full === undefined;
  }

  #holdWhileFull(): void {
    if (this.signal.aborted) return;
    if (!this.#held.hasRoom) this.#gate.hold("held");
    else if (this.#gate.isHeldFor("held")) this.#gate.release("held");
  }

  #forget(id: number): void {
    if (this.#streams.delete(id) && !this.#isMine(id)) this.#options.share?.streams?.add(-1);
    if (this.#goneAway) this.#closeIfLeft();
  }

  #closeIfLeft(): void {
    if (this.#streams.size === 0) void this.close();
  }

  #reset(id: number, status: number): void {
    const error = new UnavailableError(`stream ${id} was reset by the other side with status ${status}`);
    const stream = this.#streams.get(id);
    stream?.lose(error);
    this.#pending.get(id)?.settle(error);
  }

  #sendControl(frame: Buffer): void {
    if (!this.signal.aborted) this.#writer.control(frame);
  }

  #fail(error: unknown): void {
    const cause = error instanceof Error ? error : new InvalidInputError("read SPDY/3.1: a header block is malformed");
    this.#sendControl(encodeGoAway(this.#lastPeerId, goAwayStatus.protocolError));
    this.#lose(cause);
    this.#end();
  }

  /** Stops sending and receiving. Data in the socket's buffer is still sent. */
  #lose(error: Error): void {
    if (this.signal.aborted) return;
    this.#over.abort(error);
    this.#watch[Symbol.dispose]();
    this.#inflater[Symbol.dispose]();
    for (const pending of [...this.#pending.values()]) pending.settle(error);
    for (const stream of [...this.#streams.values()]) stream.lose(error);
    this.#gate.open();
  }

  #sayGoodbye(): void {
    for (const stream of this.#streams.values()) if (!stream.localEnded) this.#sendControl(encodeRstStream(stream.id, resetStatus.cancel));
    this.#sendControl(encodeGoAway(this.#lastPeerId, goAwayStatus.ok));
    this.#lose(new UnavailableError("the SPDY connection was closed"));
  }

  #showsAllWasRead(frame: SpdyFrame): boolean {
    return frame.kind === "goAway" || (frame.kind === "ping" && frame.id === this.#lastPingId);
  }

  #end(): void {
    if (this.#socket.destroyed || this.#ending) return;
    this.#ending = true;
    const timer = this.#options.clock.setTimer(lingerMs, () => this.#socket.destroy());
    this.#socket.once("close", () => timer[Symbol.dispose]());
    this.#socket.end();
  }

  #reason(): Error {
    const { reason } = this.signal as { reason: unknown };
    return reason instanceof Error ? reason : new UnavailableError("the SPDY connection is over");
  }
}
