import fc from "fast-check";
import { expect, test } from "vitest";
import { FrameDecoder } from "./frame-decoder.ts";
import { encodeDataHead, encodeGoAway, encodePing, encodeRstStream, encodeSynReply, encodeSynStream, type SpdyFrame } from "./frames.ts";

/** All frames of the chunks. Consecutive parts of one stream's data are joined. */
function decode(chunks: readonly Buffer[]): SpdyFrame[] {
  const decoder = new FrameDecoder();
  const frames: SpdyFrame[] = [];
  for (const chunk of chunks) {
    decoder.push(chunk);
    for (let frame = decoder.next(); frame !== undefined; frame = decoder.next()) {
      const last = frames.at(-1);
      if (frame.kind === "data" && last?.kind === "data" && last.id === frame.id && !last.fin)
        frames[frames.length - 1] = { ...frame, data: Buffer.concat([last.data, frame.data]) };
      else frames.push(frame);
    }
  }
  return frames;
}

function sliced(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted((a, b) => a - b);
  return [0, ...places].map((start, index) => bytes.subarray(start, places[index] ?? bytes.length));
}

const id = fc.integer({ min: 1, max: 0x7fff_ffff });
const block = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes));
const anyFrame = fc.oneof(
  fc.tuple(id, block).map(([stream, bytes]) => encodeSynStream(stream, bytes)),
  fc.tuple(id, block).map(([stream, bytes]) => encodeSynReply(stream, bytes)),
  fc.tuple(id, fc.integer({ min: 1, max: 11 })).map(([stream, status]) => encodeRstStream(stream, status)),
  fc.tuple(id, fc.integer({ min: 0, max: 2 })).map(([stream, status]) => encodeGoAway(stream, status)),
  id.map((ping) => encodePing(ping)),
  fc.tuple(id, block, fc.boolean()).map(([stream, bytes, fin]) => Buffer.concat([encodeDataHead(stream, bytes.length, fin), bytes])),
);

test("the first frame of a Go client is a SYN_STREAM", () => {
  const header = "800300010000002a";
  const payload = "00000001000000000000" + "78f9e3c6a7c26260606004a7b392a2d4c45c6851c29a0a0a6800000000ffff";
  const bytes = Buffer.from(header + payload, "hex");
  bytes.writeUIntBE(payload.length / 2, 5, 3);

  expect(decode([bytes])).toEqual([{ kind: "synStream", id: 1, fin: false, block: Buffer.from(payload.slice(20), "hex") }]);
});

test("frames are the same however the bytes are split", () => {
  fc.assert(
    fc.property(fc.array(anyFrame, { maxLength: 8 }), fc.array(fc.nat(5_000), { maxLength: 30 }), (frames, cuts) => {
      const bytes = Buffer.concat(frames);

      expect(decode(sliced(bytes, cuts))).toEqual(decode([bytes]));
    }),
  );
});

test("every kind of frame that the encoder writes can be decoded", () => {
  const frames = [
    encodeSynStream(1, Buffer.from("block")),
    encodeSynReply(3, Buffer.from("reply")),
    encodeRstStream(5, 5),
    encodePing(7),
    encodeDataHead(9, 0, true),
    encodeGoAway(11, 1),
  ];

  expect(decode(frames)).toEqual([
    { kind: "synStream", id: 1, fin: false, block: Buffer.from("block") },
    { kind: "synReply", id: 3, fin: false, block: Buffer.from("reply") },
    { kind: "rstStream", id: 5, status: 5 },
    { kind: "ping", id: 7 },
    { kind: "data", id: 9, fin: true, data: Buffer.alloc(0) },
    { kind: "goAway", lastGoodId: 11, status: 1 },
  ]);
});

test("data is returned as it arrives, with its end on the last part", () => {
  const decoder = new FrameDecoder();
  decoder.push(Buffer.concat([encodeDataHead(1, 6, true), Buffer.from("abc")]));

  expect(decoder.next()).toEqual({ kind: "data", id: 1, fin: false, data: Buffer.from("abc") });
  expect(decoder.next()).toBeUndefined();
  decoder.push(Buffer.from("def"));
  expect(decoder.next()).toEqual({ kind: "data", id: 1, fin: true, data: Buffer.from("def") });
});

test("SETTINGS and WINDOW_UPDATE frames are ignored", () => {
  const settings = Buffer.from("800300040000000c0000000100000004000000ff", "hex");
  const windowUpdate = Buffer.from("80030009000000080000000100010000", "hex");

  expect(decode([settings, windowUpdate])).toEqual([{ kind: "ignored" }, { kind: "ignored" }]);
});

test.each([
  ["a version that is not 3", "8002000600000004" + "00000001"],
  ["a NOOP", "8003000500000000"],
  ["an unknown type", "8003000a00000000"],
  ["a control frame of more than 32 KiB", "8003000100008001"],
  ["data of stream 0", "0000000000000001"],
  ["a SYN_STREAM that is too short", "8003000100000009" + "000000010000000000"],
  ["a SYN_STREAM of stream 0", "800300010000000a" + "00000000000000000000"],
  ["a RST_STREAM without a status", "8003000300000008" + "0000000100000000"],
  ["a RST_STREAM that is too long", "8003000300000009" + "000000010000000100"],
  ["a PING of number 0", "8003000600000004" + "00000000"],
  ["a PING with flags", "8003000601000004" + "00000001"],
  ["a GOAWAY of the wrong length", "8003000700000004" + "00000000"],
  ["SETTINGS that promise more than they hold", "8003000400000004" + "00000001"],
  ["a WINDOW_UPDATE that is too short", "8003000900000004" + "00000001"],
])("%s is refused", (_what, hex) => {
  expect(() => decode([Buffer.from(hex, "hex")])).toThrow(/^read SPDY\/3.1: /);
});

test("garbage is decoded into frames or refused, and does nothing else", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 10 }), (chunks) => {
      let failure: unknown;
      try {
        decode(chunks.map((chunk) => Buffer.from(chunk)));
      } catch (error) {
        failure = error;
      }

      expect(failure === undefined || (failure as { code?: string }).code === "VK_INVALID_INPUT").toBe(true);
    }),
  );
});
