/** A received frame. Header blocks are still compressed. SETTINGS and WINDOW_UPDATE are ignored. */
export type SpdyFrame =
  | { readonly kind: "synStream"; readonly id: number; readonly fin: boolean; readonly block: Buffer }
  | { readonly kind: "synReply"; readonly id: number; readonly fin: boolean; readonly block: Buffer }
  | { readonly kind: "headers"; readonly id: number; readonly fin: boolean; readonly block: Buffer }
  | { readonly kind: "rstStream"; readonly id: number; readonly status: number }
  | { readonly kind: "ping"; readonly id: number }
  | { readonly kind: "goAway"; readonly lastGoodId: number; readonly status: number }
  | { readonly kind: "ignored" }
  | DataPiece;

/** A received part of a DATA frame; `fin` is set on the last part only. */
interface DataPiece {
  readonly kind: "data";
  readonly id: number;
  readonly fin: boolean;
  readonly data: Buffer;
}

/** Types of control frames. */
export const frameType = {
  synStream: 1,
  synReply: 2,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  headers: 8,
  windowUpdate: 9,
} as const;

/** Statuses of RST_STREAM that this package sends. */
export const resetStatus = { protocolError: 1, refusedStream: 3, cancel: 5 } as const;

/** Statuses of GOAWAY that this package sends. */
export const goAwayStatus = { ok: 0, protocolError: 1 } as const;

/** Flag on the last frame that its sender sends on the stream. */
export const flagFin = 1;

/** Size of a frame's header. */
export const frameHeadBytes = 8;

const version = 3;

/** SYN_STREAM of priority 0 without an associated stream. */
export function encodeSynStream(id: number, block: Buffer): Buffer {
  const frame = controlFrame(frameType.synStream, 10 + block.length);
  frame.writeUInt32BE(id, 8);
  frame.fill(0, 12, 18);
  block.copy(frame, 18);
  return frame;
}

export function encodeSynReply(id: number, block: Buffer): Buffer {
  const frame = controlFrame(frameType.synReply, 4 + block.length);
  frame.writeUInt32BE(id, 8);
  block.copy(frame, 12);
  return frame;
}

export function encodeRstStream(id: number, status: number): Buffer {
  return twoWords(frameType.rstStream, id, status);
}

export function encodeGoAway(lastGoodId: number, status: number): Buffer {
  return twoWords(frameType.goAway, lastGoodId, status);
}

export function encodePing(id: number): Buffer {
  const frame = controlFrame(frameType.ping, 4);
  frame.writeUInt32BE(id, 8);
  return frame;
}

/** Header of a DATA frame. */
export function encodeDataHead(id: number, length: number, fin: boolean): Buffer {
  const head = Buffer.allocUnsafe(frameHeadBytes);
  head.writeUInt32BE(id, 0);
  head.writeUInt32BE(((fin ? flagFin : 0) << 24) | length, 4);
  return head;
}

function twoWords(type: number, first: number, second: number): Buffer {
  const frame = controlFrame(type, 8);
  frame.writeUInt32BE(first, 8);
  frame.writeUInt32BE(second, 12);
  return frame;
}

function controlFrame(type: number, length: number): Buffer {
  const frame = Buffer.allocUnsafe(frameHeadBytes + length);
  frame.writeUInt16BE(0x8000 | version, 0);
  frame.writeUInt16BE(type, 2);
  frame.writeUInt32BE(length, 4);
  return frame;
}
