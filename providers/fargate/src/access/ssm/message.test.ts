import fc from "fast-check";
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { decodeMessage, encodeMessage, payloadTypes } from "./message.ts";

const id = "00112233-4455-6677-8899-aabbccddeeff";
const payload = Buffer.from("hello");
const message = {
  type: "input_stream_data",
  sequence: 7,
  flags: 3,
  id,
  createdMs: 1_700_000_000_123,
  payloadType: payloadTypes.output,
  payload,
};

test("a message is laid out as the plug-in of AWS writes it", () => {
  const frame = encodeMessage(message);

  expect(frame.readUInt32BE(0)).toBe(116);
  expect(frame.subarray(4, 36).toString("latin1")).toBe("input_stream_data".padEnd(32, " "));
  expect(frame.readUInt32BE(36)).toBe(1);
  expect(frame.readBigUInt64BE(40)).toBe(1_700_000_000_123n);
  expect(frame.readBigInt64BE(48)).toBe(7n);
  expect(frame.readBigUInt64BE(56)).toBe(3n);
  expect(frame.subarray(64, 80).toString("hex")).toBe("8899aabbccddeeff0011223344556677");
  expect(frame.subarray(80, 112)).toEqual(createHash("sha256").update("hello").digest());
  expect(frame.readUInt32BE(112)).toBe(1);
  expect(frame.readUInt32BE(116)).toBe(5);
  expect(frame.subarray(120).toString()).toBe("hello");
});

test("every message is read as it was written", () => {
  fc.assert(
    fc.property(fc.uint8Array(), fc.nat(), fc.uuid(), fc.nat(4_294_967_295), (bytes, sequence, uuid, payloadType) => {
      const written = { ...message, payload: bytes, sequence, id: uuid, payloadType };
      expect(decodeMessage(encodeMessage(written))).toEqual({ ...written, payload: Buffer.from(bytes) });
    }),
  );
});

describe("a frame", () => {
  test("whose type is filled with zeros is read", () => {
    const frame = encodeMessage(message);
    frame.fill(0, 4 + "input_stream_data".length, 36);

    expect(decodeMessage(frame)?.type).toBe("input_stream_data");
  });

  test("with a damaged payload is not read", () => {
    const frame = encodeMessage(message);
    frame[120] = 0;

    expect(decodeMessage(frame)).toBeUndefined();
  });

  test("that is cut off anywhere is not read, or has lost its payload and is not read either", () => {
    const frame = encodeMessage(message);

    for (let length = 0; length < frame.length; length++) expect(decodeMessage(frame.subarray(0, length))).toBeUndefined();
  });

  test("of random bytes does no harm", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect(decodeMessage(bytes)).toBeUndefined();
      }),
    );
  });
});
