import { type Duplex, duplexPair } from "node:stream";
import { FrameDecoder } from "../spdy/frame-decoder.ts";
import { encodeDataHead, encodeSynStream, type SpdyFrame } from "../spdy/frames.ts";
import { HeaderDeflater } from "../spdy/header-block.ts";

/** The other end of a connection, which sends any frames and records what it receives. */
export interface SpdyPeer {
  /** The end that is tested. */
  readonly socket: Duplex;
  /** The peer's own end. */
  readonly raw: Duplex;
  readonly received: SpdyFrame[];
  /** Opens a stream with the headers. */
  open(id: number, headers: Readonly<Record<string, string>>): void;
  data(id: number, text: string | Buffer, fin?: boolean): void;
  /** All data that was received on a stream. */
  text(id: number): string;
}

/** Two ends of a connection in memory. */
export function spdyPeer(): SpdyPeer {
  const [socket, raw] = duplexPair();
  const decoder = new FrameDecoder();
  const deflater = new HeaderDeflater();
  const received: SpdyFrame[] = [];
  raw.on("error", () => undefined);
  raw.on("data", (chunk: Buffer) => {
    decoder.push(chunk);
    for (let frame = decoder.next(); frame !== undefined; frame = decoder.next()) received.push(frame);
  });
  return {
    socket,
    raw,
    received,
    open: (id, headers) => void raw.write(encodeSynStream(id, deflater.deflate(new Map(Object.entries(headers))))),
    data: (id, text, fin = false) => {
      const bytes = Buffer.from(text);
      raw.write(Buffer.concat([encodeDataHead(id, bytes.length, fin), bytes]));
    },
    text: (id) => received.map((frame) => (frame.kind === "data" && frame.id === id ? frame.data.toString() : "")).join(""),
  };
}
