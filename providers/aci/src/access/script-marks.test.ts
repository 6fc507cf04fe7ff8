import fc from "fast-check";
import { expect, test } from "vitest";
import { markedStream, type Piece } from "./script-marks.ts";

const nonce = "vk-1234-";

/** All pieces, with neighbouring output and errors joined. */
function read(chunks: readonly Uint8Array[]): unknown[] {
  const marked = markedStream(nonce);
  const all: Piece[] = [...chunks.flatMap((chunk) => marked.push(chunk)), ...marked.end()];
  const joined: { kind: string; text?: string }[] = [];
  for (const piece of all) {
    const last = joined.at(-1);
    if (piece.kind !== "output" && piece.kind !== "errors") joined.push(piece);
    else if (last?.kind === piece.kind) last.text += piece.bytes.toString("latin1");
    else joined.push({ kind: piece.kind, text: piece.bytes.toString("latin1") });
  }
  return joined;
}

const session = Buffer.from(
  ` n='${nonce}'; printf '%s^%d\\n' "$n" $$\r\n${nonce}^42\nout${nonce}>an error\nput\0\xff${nonce})last${"\n"}${nonce}$7\n${nonce}.\n`,
  "latin1",
);

const expected = [
  { kind: "begun", word: "42" },
  { kind: "output", text: "out" },
  { kind: "errors", text: "an error\n" },
  { kind: "output", text: "put\0\xff" },
  { kind: "errors", text: "last" },
  { kind: "ended", code: 7 },
  { kind: "done" },
];

test("marks, output and errors come apart, and the echo before the beginning is left out", () => {
  expect(read([session])).toEqual(expected);
});

test("it does not matter how the bytes arrive", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 60 }), (sizes) => {
      const chunks: Buffer[] = [];
      let at = 0;
      for (const size of sizes) {
        chunks.push(session.subarray(at, at + size));
        at += size;
      }
      chunks.push(session.subarray(at));

      expect(read(chunks)).toEqual(expected);
    }),
  );
});

test("a nonce without a mark is output", () => {
  expect(read([Buffer.from(`${nonce}^1\na ${nonce} b\n${nonce}$x\n`)])).toEqual([
    { kind: "begun", word: "1" },
    { kind: "output", text: `a ${nonce} b\n${nonce}$x\n` },
  ]);
});

test("a missing program is told before the beginning", () => {
  expect(read([Buffer.from(`${nonce}!stty\n`)])).toEqual([{ kind: "missing", program: "stty" }]);
});
