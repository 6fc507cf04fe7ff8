/** Stream of a frame. `system` carries the engine's error message. */
export type FrameStream = "stdout" | "stderr" | "system";

/** Part of a frame's payload. */
export interface FramePiece {
  readonly stream: FrameStream;
  readonly bytes: Buffer;
  /** Whether it is the frame's last part. */
  readonly endsFrame: boolean;
}

const headerBytes = 8;
const streams: readonly (FrameStream | undefined)[] = ["stdout", "stdout", "stderr", "system"];

/**
 * Decodes the output of a container without a terminal: frames with an 8-byte header (stream, three zeros, 4 bytes of length) and a
 * payload. Payloads are returned in parts as they arrive; only a header is ever kept.
 *
 * Source: moby v20.10 pkg/stdcopy.
 */
export class FrameDecoder {
  readonly #header = Buffer.alloc(headerBytes);
  #headerLength = 0;
  #stream: FrameStream = "stdout";
  #leftBytes = 0;

  /** Parts of frames in the next bytes. @throws Error for malformed frames */
  push(chunk: Buffer): FramePiece[] {
    const pieces: FramePiece[] = [];
    for (let at = 0; at < chunk.length;) {
      if (this.#leftBytes > 0) {
        const end = Math.min(chunk.length, at + this.#leftBytes);
        this.#leftBytes -= end - at;
        pieces.push({ stream: this.#stream, bytes: chunk.subarray(at, end), endsFrame: this.#leftBytes === 0 });
        at = end;
        continue;
      }
      const copied = chunk.copy(this.#header, this.#headerLength, at);
      at += copied;
      this.#headerLength += copied;
      if (this.#headerLength === headerBytes) this.#beginFrame();
    }
    return pieces;
  }

  /** Must be called after the last byte. @throws Error inside a frame */
  end(): void {
    if (this.#leftBytes > 0 || this.#headerLength > 0)
      throw new Error(`the engine's stream ended in the midst of a frame: ${this.#leftBytes} bytes are missing`);
  }

  #beginFrame(): void {
    const stream = streams[this.#header.readUInt8(0)];
    if (stream === undefined || this.#header.readUIntBE(1, 3) !== 0)
      throw new Error(`the engine's stream has no frame where one is due, but ${this.#header.toString("hex")}`);
    this.#stream = stream;
    this.#leftBytes = this.#header.readUInt32BE(4);
    this.#headerLength = 0;
  }
}
