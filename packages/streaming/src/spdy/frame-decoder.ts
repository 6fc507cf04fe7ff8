import { InvalidInputError } from "@virtual-kubelet/errdefs";
import { flagFin, frameHeadBytes, frameType, type SpdyFrame } from "./frames.ts";

/** Control frames carry only a few headers here. Go allows a megabyte, which every connection could make this side allocate. */
const maxControlBytes = 32 * 1024;

const idMask = 0x7fff_ffff;

type State =
  /** Lasts until eight bytes have been read. */
  | { readonly kind: "head"; filled: number }
  /** Lasts until the payload is complete. */
  | { readonly kind: "control"; readonly type: number; readonly flags: number; readonly payload: Buffer; filled: number }
  /** Lasts until no bytes are left; parts are returned as they arrive. */
  | { readonly kind: "data"; readonly id: number; readonly fin: boolean; left: number };

/** Splits a SPDY/3.1 byte stream into frames. It buffers at most one control frame, and no DATA. */
export class FrameDecoder {
  readonly #head: Buffer = Buffer.alloc(frameHeadBytes);
  readonly #input: Buffer[] = [];
  #offset = 0;
  #state: State = { kind: "head", filled: 0 };

  /** Adds received bytes. All frames must be read before adding more, or memory grows. */
  push(chunk: Buffer): void {
    if (chunk.length > 0) this.#input.push(chunk);
  }

  /**
   * Returns the next frame, or `undefined` if none is complete.
   *
   * @throws InvalidInputError for bytes that are not SPDY/3.1; nothing can be read after that
   */
  next(): SpdyFrame | undefined {
    for (;;) {
      const state = this.#state;
      if (state.kind === "head") {
        state.filled = this.#fill(this.#head, state.filled);
        if (state.filled < frameHeadBytes) return undefined;
        this.#state = readHead(this.#head);
        if (this.#state.kind === "data" && this.#state.left === 0) return this.#data(this.#state);
      } else if (state.kind === "control") {
        state.filled = this.#fill(state.payload, state.filled);
        if (state.filled < state.payload.length) return undefined;
        this.#state = { kind: "head", filled: 0 };
        return readControl(state.type, state.flags, state.payload);
      } else {
        return this.#input.length === 0 ? undefined : this.#data(state);
      }
    }
  }

  #data(state: State & { kind: "data" }): SpdyFrame {
    const data = state.left === 0 ? Buffer.alloc(0) : this.#takeUpTo(state.left);
    state.left -= data.length;
    const last = state.left === 0;
    if (last) this.#state = { kind: "head", filled: 0 };
    return { kind: "data", id: state.id, fin: state.fin && last, data };
  }

  /** Copies input into the target from `filled` on. @returns the new value of `filled` */
  #fill(target: Buffer, filled: number): number {
    let position = filled;
    while (position < target.length && this.#input.length > 0) {
      const part = this.#takeUpTo(target.length - position);
      part.copy(target, position);
      position += part.length;
    }
    return position;
  }

  #takeUpTo(length: number): Buffer {
    const [chunk = Buffer.alloc(0)] = this.#input;
    const part = chunk.subarray(this.#offset, this.#offset + length);
    this.#offset += part.length;
    if (this.#offset >= chunk.length) {
      this.#input.shift();
      this.#offset = 0;
    }
    return part;
  }
}

function readHead(head: Buffer): State {
  const word = head.readUInt32BE(0);
  const flags = head.readUInt8(4);
  const length = head.readUIntBE(5, 3);
  if ((word & 0x8000_0000) === 0) {
    if (word === 0) throw invalid("a DATA frame names stream 0");
    return { kind: "data", id: word, fin: (flags & flagFin) !== 0, left: length };
  }
  const version = (word >>> 16) & 0x7fff;
  if (version !== 3) throw invalid(`a frame is of version ${version}, not 3`);
  if (length > maxControlBytes) throw invalid(`a control frame of ${length} bytes is larger than ${maxControlBytes}`);
  return { kind: "control", type: word & 0xffff, flags, payload: Buffer.allocUnsafeSlow(length), filled: 0 };
}

/** Source: moby/spdystream v0.5.1 spdy/read.go, for the frames that are rejected. */
function readControl(type: number, flags: number, payload: Buffer): SpdyFrame {
  const fin = (flags & flagFin) !== 0;
  switch (type) {
    case frameType.synStream:
      return { kind: "synStream", id: streamId(payload, 10), fin, block: payload.subarray(10) };
    case frameType.synReply:
      return { kind: "synReply", id: streamId(payload, 4), fin, block: payload.subarray(4) };
    case frameType.headers:
      return { kind: "headers", id: streamId(payload, 4), fin, block: payload.subarray(4) };
    case frameType.rstStream: {
      const id = streamId(payload, 8);
      const status = payload.readUInt32BE(4);
      if (payload.length !== 8 || status === 0) throw invalid("a RST_STREAM frame is malformed");
      return { kind: "rstStream", id, status };
    }
    case frameType.ping: {
      const id = payload.length === 4 && flags === 0 ? payload.readUInt32BE(0) : 0;
      if (id === 0) throw invalid("a PING frame is malformed");
      return { kind: "ping", id };
    }
    case frameType.goAway:
      if (payload.length !== 8 || flags !== 0) throw invalid("a GOAWAY frame is malformed");
      return { kind: "goAway", lastGoodId: payload.readUInt32BE(0) & idMask, status: payload.readUInt32BE(4) };
    case frameType.settings:
      if (payload.length < 4 || payload.readUInt32BE(0) > (payload.length - 4) / 8) throw invalid("a SETTINGS frame is malformed");
      return { kind: "ignored" };
    case frameType.windowUpdate:
      if (payload.length !== 8 || flags !== 0) throw invalid("a WINDOW_UPDATE frame is malformed");
      return { kind: "ignored" };
    default:
      throw invalid(`there is no control frame of type ${type}`);
  }
}

function streamId(payload: Buffer, minLength: number): number {
  if (payload.length < minLength) throw invalid(`a control frame of ${payload.length} bytes is too short`);
  const id = payload.readUInt32BE(0) & idMask;
  if (id === 0) throw invalid("a control frame names stream 0");
  return id;
}

function invalid(what: string): InvalidInputError {
  return new InvalidInputError(`read SPDY/3.1: ${what}`);
}
