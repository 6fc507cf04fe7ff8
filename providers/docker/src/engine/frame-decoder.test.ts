import fc from "fast-check";
import { expect, test } from "vitest";
import { frame } from "../test-support/frames.ts";
import { FrameDecoder, type FrameStream } from "./frame-decoder.ts";

/** What the chunks come to, pieces of one frame joined. */
function decode(chunks: readonly Buffer[]): [FrameStream, string][] {
  const decoder = new FrameDecoder();
  const frames: [FrameStream, string][] = [];
  let begun = "";
  for (const { stream, bytes, endsFrame } of chunks.flatMap((chunk) => decoder.push(chunk))) {
    begun += bytes.toString("latin1");
    if (!endsFrame) continue;
    frames.push([stream, begun]);
    begun = "";
  }
  decoder.end();
  return frames;
}

test("frames come out the same wherever the bytes are cut in two", () => {
  const bytes = Buffer.concat([frame(1, "out\n"), frame(2, "err\n"), frame(1, "more")]);

  for (let at = 0; at <= bytes.length; at++)
    expect(decode([bytes.subarray(0, at), bytes.subarray(at)])).toEqual([
      ["stdout", "out\n"],
      ["stderr", "err\n"],
      ["stdout", "more"],
    ]);
});

test("frames come out the same however the bytes are cut", () => {
  const frames = fc.array(fc.tuple(fc.constantFrom(1, 2), fc.string({ minLength: 1, unit: "binary-ascii" })));
  fc.assert(
    fc.property(frames, fc.array(fc.nat(), { maxLength: 20 }), (wanted, cuts) => {
      const bytes = Buffer.concat(wanted.map(([stream, text]) => frame(stream, text)));
      const ends = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].toSorted((a, b) => a - b);
      const chunks = ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));

      expect(decode(chunks)).toEqual(wanted.map(([stream, text]) => [stream === 1 ? "stdout" : "stderr", text]));
    }),
  );
});

test("an empty frame is skipped", () => {
  expect(decode([Buffer.concat([frame(2, ""), frame(1, "x")])])).toEqual([["stdout", "x"]]);
});

test("a stream that ends in the midst of a frame or of a header is broken", () => {
  const bytes = frame(1, "text");

  for (let at = 1; at < bytes.length; at++) expect(() => decode([bytes.subarray(0, at)])).toThrow("in the midst of a frame");
});

test("what is no frame is told from one", () => {
  expect(() => new FrameDecoder().push(Buffer.from("hello world"))).toThrow("no frame where one is due");
  expect(() => new FrameDecoder().push(Buffer.from([1, 0, 1, 0, 0, 0, 0, 1]))).toThrow("no frame where one is due");
});
