import { createHash } from "node:crypto";

/** Types of messages. Source: aws/session-manager-plugin src/message/messageparser.go and contracts.go. */
export type MessageType =
  | "input_stream_data"
  | "output_stream_data"
  | "acknowledge"
  | "channel_closed"
  | "start_publication"
  | "pause_publication";

/** Types of payloads in stream messages. Source: aws/session-manager-plugin src/message/clientmessage.go. */
export const payloadTypes = {
  output: 1,
  error: 2,
  size: 3,
  handshakeRequest: 5,
  handshakeResponse: 6,
  handshakeComplete: 7,
  encryptionChallengeRequest: 8,
  flag: 10,
  stderr: 11,
  exitCode: 12,
} as const;

/** Values of a payload of type {@link payloadTypes.flag}. */
export const flagValues = { disconnectToPort: 1, terminateSession: 2, connectToPortError: 3 } as const;

/** A message of the data channel. */
export interface ChannelMessage {
  readonly type: string;
  readonly sequence: number;
  /** Bit 0: SYN, bit 1: FIN. */
  readonly flags: number;
  /** UUID. */
  readonly id: string;
  readonly createdMs: number;
  readonly payloadType: number;
  readonly payload: Uint8Array;
}

const schemaVersion = 1;
/** Length of the header without the payload's length, which follows it. */
const headerLength = 116;
const typeLength = 32;
const at = { type: 4, schema: 36, created: 40, sequence: 48, flags: 56, id: 64, digest: 80, payloadType: 112, payloadLength: 116 } as const;

/**
 * Writes a message: a big-endian header with the SHA-256 of the payload, and the payload. The two halves of the id are swapped.
 * Source: aws/session-manager-plugin src/message/messageparser.go (SerializeClientMessage, putUuid).
 */
export function encodeMessage({ type, sequence, flags, id, createdMs, payloadType, payload }: ChannelMessage): Buffer {
  const header = Buffer.alloc(headerLength + 4);
  header.writeUInt32BE(headerLength, 0);
  header.write(type.padEnd(typeLength, " "), at.type, typeLength, "latin1");
  header.writeUInt32BE(schemaVersion, at.schema);
  header.writeBigUInt64BE(BigInt(Math.trunc(createdMs)), at.created);
  header.writeBigInt64BE(BigInt(sequence), at.sequence);
  header.writeBigUInt64BE(BigInt(flags), at.flags);
  const uuid = Buffer.from(id.replaceAll("-", ""), "hex");
  uuid.copy(header, at.id, 8, 16);
  uuid.copy(header, at.id + 8, 0, 8);
  digestOf(payload).copy(header, at.digest);
  header.writeUInt32BE(payloadType, at.payloadType);
  header.writeUInt32BE(payload.byteLength, at.payloadLength);
  return Buffer.concat([header, payload]);
}

/**
 * Reads a message.
 *
 * @returns `undefined` if it is too short, or damaged
 */
export function decodeMessage(frame: Uint8Array): ChannelMessage | undefined {
  const bytes = Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength);
  if (bytes.length < headerLength) return undefined;
  const length = bytes.readUInt32BE(0);
  if (length < at.payloadType || length + 4 > bytes.length) return undefined;
  const payload = bytes.subarray(length + 4, length + 4 + bytes.readUInt32BE(length));
  const digest = bytes.subarray(at.digest, at.digest + 32);
  const type = bytes
    .subarray(at.type, at.type + typeLength)
    .toString("latin1")
    .replaceAll("\0", "")
    .trim();
  // Only messages of the streams carry a digest.
  if (type.endsWith("_stream_data") && !digest.equals(digestOf(payload))) return undefined;
  return {
    type,
    sequence: Number(bytes.readBigInt64BE(at.sequence)),
    flags: Number(bytes.readBigUInt64BE(at.flags)),
    id: toUuid(Buffer.concat([bytes.subarray(at.id + 8, at.id + 16), bytes.subarray(at.id, at.id + 8)])),
    createdMs: Number(bytes.readBigUInt64BE(at.created)),
    payloadType: length >= headerLength ? bytes.readUInt32BE(at.payloadType) : 0,
    payload,
  };
}

function digestOf(payload: Uint8Array): Buffer {
  return createHash("sha256").update(payload).digest();
}

function toUuid(bytes: Buffer): string {
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
