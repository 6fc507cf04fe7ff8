import type { Duplex } from "node:stream";
import type { SendCallback } from "../channel/channel.ts";
import { encodeDataHead, encodePing } from "./frames.ts";

/** Larger chunks are cut. Go's clients send 32 KiB, and take any size. */
const maxDataBytes = 64 * 1024;

/** Control frames that may wait in the socket: a peer that asks for more than it reads is not listened to meanwhile. */
const maxBacklogBytes = 64 * 1024;

/** Writes frames to a socket. */
export class FrameWriter {
  readonly #socket: Duplex;
  readonly #onBacklog: (full: boolean) => void;
  #backlogBytes = 0;
  #nextPing: number;

  /**
   * @param firstPing - 1 for a client, 2 for a server: pings have the parity of their sender
   * @param onBacklog - told when more control frames wait than may, and when it is so no longer
   */
  constructor(socket: Duplex, firstPing: 1 | 2, onBacklog: (full: boolean) => void) {
    this.#socket = socket;
    this.#nextPing = firstPing;
    this.#onBacklog = onBacklog;
  }

  /** Writes chunks as DATA frames, and `fin` behind them; the callback waits for the socket to take them all. */
  data(id: number, frame: { readonly chunks: readonly Buffer[]; readonly fin: boolean }, sent: SendCallback): void {
    const parts = frame.chunks.flatMap((chunk) => dataFrames(id, chunk));
    if (frame.fin || parts.length === 0) parts.push(encodeDataHead(id, 0, frame.fin));
    const last = parts.pop();
    this.#socket.cork();
    for (const part of parts) this.#socket.write(part);
    this.#socket.write(last, sent);
    this.#socket.uncork();
  }

  /** Writes a control frame. */
  control(frame: Buffer): void {
    this.#backlogBytes += frame.length;
    if (this.#backlogBytes > maxBacklogBytes) this.#onBacklog(true);
    this.#socket.write(frame, () => {
      this.#backlogBytes -= frame.length;
      if (this.#backlogBytes <= maxBacklogBytes) this.#onBacklog(false);
    });
  }

  /** Pings, unless much waits to be written: that tells as much. */
  pingIfIdle(): void {
    if (this.#socket.writableLength <= maxBacklogBytes) this.ping();
  }

  /** Pings. @returns the number of the ping, which its answer repeats */
  ping(): number {
    const id = this.#nextPing;
    this.control(encodePing(id));
    this.#nextPing = id >= 0x7fff_fffd ? 2 - (id % 2) : id + 2;
    return id;
  }

  /** Whether a ping of that number is one of ours, come back. */
  isOwnPing(id: number): boolean {
    return id % 2 === this.#nextPing % 2;
  }
}

/** Heads and payloads of the frames that carry a chunk, in turn. */
function dataFrames(id: number, chunk: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  for (let start = 0; start < chunk.length; start += maxDataBytes) {
    const part = chunk.subarray(start, start + maxDataBytes);
    parts.push(encodeDataHead(id, part.length, false), part);
  }
  return parts;
}
