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

/** How long the peer may take to close after the socket was ended. */
const lingerMs = 10_000;

/** How often a peer that is not read is asked for a sign of life. */
const stallPingMs = 2_000;

/** All streams together may hold as much as so many that are full. */
const fullStreams = 16;

/** How a connection is run. */
export interface SpdyConnectionOptions {
  readonly role: "server" | "client";
  readonly clock: Clock;
  readonly limits: ResolvedLimits;
  /** What the connection shares with others; default: it has only its own limits. */
  readonly share?: StreamingShare | undefined;
  /** What was read already. */
  readonly head?: Buffer | undefined;
  /** Pings at this interval, and gives up a peer that says nothing for a minute; default: pings only a peer that is not read. */
  readonly pingMs?: number | undefined;
  /** Whether a stream the peer opens is welcome; else it is reset. Default: none is. */
  admit?(headers: SpdyHeaders): boolean;
  /** A stream that was admitted, and answered. */
  onStream?(stream: SpdyStream): void;
}

interface PendingOpen {
  readonly stream: SpdyStream;
  settle(error?: Error): void;
}

/**
 * A SPDY/3.1 connection as Kubernetes uses it: streams with a header or two, and no flow control but TCP's. What the peer
 * does wrong ends the connection and nothing else. One that is to be closed well is ended by {@link close}.
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
  /** Held for streams that are full, by id, and for reasons of the connection's own. */
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
  /** Set once {@link closeWhenRead} was called. */
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
        // Other connections may have made room meanwhile.
        this.#holdWhileFull();
        return this.#gate.held;
      },
      ping: () => this.#writer.pingIfIdle(),
      onExpired: (why) => this.destroy(new UnavailableError(`the SPDY connection was given up: ${why}`)),
    });
    this.closed = new Promise((resolve) => {
      socket.once("close", () => {
        this.#finish(new UnavailableError("the SPDY connection was closed by the other side"));
        resolve();
      });
    });
    this.#listen();
  }

  /** When data came or went last, on the clock's monotonic time. */
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
   * @throws UnavailableError when it is reset, when there is no answer in time, or when the connection is over
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
   * Resets what is open, says goodbye, and closes the socket once all that was sent before is out. Streams that were ended
   * before are delivered whole, unless the peer takes longer than ten seconds. Resolves when the socket is closed.
   */
  close(): Promise<void> {
    if (!this.signal.aborted) {
      this.#sayGoodbye();
      this.#end();
    }
    return this.closed;
  }

  /**
   * {@link close}, but ends the socket only when the peer has read everything, however slowly: its answer to a ping, its own
   * goodbye or its end shows that. An API server between the two closes the client's connection as soon as ours ends, whatever
   * the client has not read yet.
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

  /** Closes the socket at once. */
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

  /** Works through what was received, until a header block has to be waited for. */
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

  /** Nothing more will be received. What was counts still: it may hold all that there was to say. */
  #finish(why: Error): void {
    this.#finished ??= why;
    this.#pump();
  }

  /** After the end: what still comes is read, so that the socket closes without a reset that would cut off what we sent. */
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
    // Go's clients drop what comes before the reply.
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

  /** Whether one more stream that the peer opens fits; it counts then. */
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

  /** No more is sent or received; what waits in the socket still goes out. */
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
