/** A frame in the engine's format. */
export function frame(stream: number, payload: string | Buffer): Buffer {
  const bytes = Buffer.isBuffer(payload) ? payload : Buffer.from(payload, "latin1");
  const header = Buffer.from([stream, 0, 0, 0, 0, 0, 0, 0]);
  header.writeUInt32BE(bytes.length, 4);
  return Buffer.concat([header, bytes]);
}
