import { createHash } from "node:crypto";

/** Types of messages of a data channel. */
export type MessageType =
  | "input_stream_data"
  | "output_stream_data"
  | "acknowledge"
  | "channel_closed"
  | "pause_publication"
  | "start_publication";

/** Numbers of the payload types. */
export const payloadTypes = {
  none: 0,
  output: 1,
  error: 2,
  size: 3,
  parameter: 4,
  handshakeRequest: 5,
  handshakeResponse: 6,
  handshakeComplete: 7,
  flag: 10,
  standardError: 11,
  exitCode: 12,
} as const;

/** A message of a data channel. */
export interface AgentMessage {
  readonly type: string;
  readonly sequence: number;
  readonly flags: bigint;
  /** UUID in its usual form. */
  readonly id: string;
  readonly createdAtMs: number;
  readonly payloadType: number;
  readonly payload: Buffer;
}

/**
 * Fields of the header: name, offset and bytes. All numbers are big-endian. Source: `AgentMessage` in amazon-ssm-agent's documentation of the
 * message gateway and in session-manager-plugin.
 */
const fields = {
  headerLength: [0, 4],
  type: [4, 32],
  schemaVersion: [36, 4],
  created: [40, 8],
  sequence: [48, 8],
  flags: [56, 8],
  idLow: [64, 8],
  idHigh: [72, 8],
  digest: [80, 32],
  payloadType: [112, 4],
  payloadLength: [116, 4],
} as const;

/** Value of the field `headerLength`: all fields but the last. */
const headerLength = 116;
const payloadOffset = 120;

/** Writes a message as the agent does. */
export function encodeMessage(message: AgentMessage): Buffer {
  const { payload } = message;
  const bytes = Buffer.alloc(payloadOffset + payload.length);
  const id = Buffer.from(message.id.replaceAll("-", ""), "hex");
  bytes.writeUInt32BE(headerLength, fields.headerLength[0]);
  bytes.write(message.type.padEnd(fields.type[1], " "), fields.type[0], "latin1");
  bytes.writeUInt32BE(1, fields.schemaVersion[0]);
  bytes.writeBigUInt64BE(BigInt(Math.trunc(message.createdAtMs)), fields.created[0]);
  bytes.writeBigInt64BE(BigInt(message.sequence), fields.sequence[0]);
  bytes.writeBigUInt64BE(message.flags, fields.flags[0]);
  id.copy(bytes, fields.idLow[0], 8, 16);
  id.copy(bytes, fields.idHigh[0], 0, 8);
  sha256(payload).copy(bytes, fields.digest[0]);
  bytes.writeUInt32BE(message.payloadType, fields.payloadType[0]);
  bytes.writeUInt32BE(payload.length, fields.payloadLength[0]);
  payload.copy(bytes, payloadOffset);
  return bytes;
}

/** Reads a message strictly. @throws Error that names the field which is wrong */
export function decodeMessage(bytes: Buffer): AgentMessage {
  if (bytes.length < payloadOffset) throw new Error(`a message of ${bytes.length} bytes is shorter than its header`);
  const length = bytes.readUInt32BE(fields.headerLength[0]);
  if (length !== headerLength) throw new Error(`the header length is ${length}`);
  const version = bytes.readUInt32BE(fields.schemaVersion[0]);
  if (version !== 1) throw new Error(`the schema version is ${version}`);
  const payload = bytes.subarray(payloadOffset);
  const payloadLength = bytes.readUInt32BE(fields.payloadLength[0]);
  if (payloadLength !== payload.length)
    throw new Error(`the payload length is ${payloadLength}, and the payload has ${payload.length} bytes`);
  const digest = part(bytes, fields.digest);
  if (!digest.equals(sha256(payload))) throw new Error("the digest is not the payload's SHA-256");
  const id = Buffer.concat([part(bytes, fields.idHigh), part(bytes, fields.idLow)]).toString("hex");
  if (/^0*$/.test(id)) throw new Error("the message has no id");
  return {
    type: part(bytes, fields.type)
      .toString("latin1")
      .replace(/[\0 ]+$/, ""),
    sequence: Number(bytes.readBigInt64BE(fields.sequence[0])),
    flags: bytes.readBigUInt64BE(fields.flags[0]),
    id: id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5"),
    createdAtMs: Number(bytes.readBigUInt64BE(fields.created[0])),
    payloadType: bytes.readUInt32BE(fields.payloadType[0]),
    payload,
  };
}

function part(bytes: Buffer, [offset, length]: readonly [offset: number, length: number]): Buffer {
  return bytes.subarray(offset, offset + length);
}

function sha256(payload: Buffer): Buffer {
  return createHash("sha256").update(payload).digest();
}
