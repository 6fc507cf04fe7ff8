import type { Duplex } from "node:stream";
import type { SendCallback } from "../channel/channel.ts";
import { encodeDataHead, encodePing } from "./frames.ts";

/** Larger chunks are split. Go's clients send 32 KiB, and accept any size. */
const maxDataBytes = 64 * 1024;

/**
 * Maximum bytes of control frames waiting in the socket. Beyond it the peer is not read, because it sends more requests than it reads
 * answers.
 */
const maxBacklogBytes = 64 * 1024;

export class FrameWriter {
  readonly #socket: Duplex;
  readonly #onBacklog: (full: boolean) => void;
  #backlogBytes = 0;
  #nextPing: number;

  /**
   * @param firstPing - 1 for a client, 2 for a server: IDs of pings have the parity of their sender
   * @param onBacklog - called when too many control frames wait, and when that is over
   */
  constructor(socket: Duplex, firstPing: 1 | 2, onBacklog: (full: boolean) => void) {
    this.#socket = socket;
    this.#nextPing = firstPing;
    this.#onBacklog = onBacklog;
  }

  /** Sends chunks as DATA frames, the last with `fin` if that is set. The callback is called when the socket has accepted them all. */
  data(id: number, frame: { readonly chunks: readonly Buffer[]; readonly fin: boolean }, sent: SendCallback): void {
    const parts = frame.chunks.flatMap((chunk) => dataFrames(id, chunk));
    if (frame.fin || parts.length === 0) parts.push(encodeDataHead(id, 0, frame.fin));
    const last = parts.pop();
    this.#socket.cork();
    for (const part of parts) this.#socket.write(part);
    this.#socket.write(last, sent);
    this.#socket.uncork();
  }

  control(frame: Buffer): void {
    this.#backlogBytes += frame.length;
    if (this.#backlogBytes > maxBacklogBytes) this.#onBacklog(true);
    this.#socket.write(frame, () => {
      this.#backlogBytes -= frame.length;
      if (this.#backlogBytes <= maxBacklogBytes) this.#onBacklog(false);
    });
  }

  /** Sends a ping unless much data is waiting in the socket, because the delivery of that data proves that the peer is alive. */
  pingIfIdle(): void {
    if (this.#socket.writableLength <= maxBacklogBytes) this.ping();
  }

  /** Sends a ping. @returns ID of the ping, which the answer repeats */
  ping(): number {
    const id = this.#nextPing;
    this.control(encodePing(id));
    this.#nextPing = id >= 0x7fff_fffd ? 2 - (id % 2) : id + 2;
    return id;
  }

  /** Whether the ping is the answer to a ping of this side. */
  isOwnPing(id: number): boolean {
    return id % 2 === this.#nextPing % 2;
  }
}

/** Alternating heads and payloads of the frames that carry a chunk. */
function dataFrames(id: number, chunk: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  for (let start = 0; start < chunk.length; start += maxDataBytes) {
    const part = chunk.subarray(start, start + maxDataBytes);
    parts.push(encodeDataHead(id, part.length, false), part);
  }
  return parts;
}
