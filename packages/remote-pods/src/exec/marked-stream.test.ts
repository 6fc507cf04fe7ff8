import fc from "fast-check";
import { expect, test } from "vitest";
import { MarkedStream, type MarkedPiece } from "./marked-stream.ts";

const nonce = "vk-1234-";

/** All pieces, output put together between marks. */
function read(chunks: readonly Uint8Array[]): unknown[] {
  const stream = new MarkedStream(nonce);
  const all: MarkedPiece[] = [...chunks.flatMap((chunk) => stream.push(chunk)), ...stream.end()];
  const joined: unknown[] = [];
  let output: Buffer[] = [];
  const flush = (): void => {
    if (output.length > 0) joined.push(Buffer.concat(output).toString("latin1"));
    output = [];
  };
  for (const piece of all)
    if (piece.kind === "output") output.push(piece.bytes);
    else {
      flush();
      joined.push(piece);
    }
  flush();
  return joined;
}

const text = (value: string): Buffer => Buffer.from(value, "latin1");

test("what comes before the beginning is the terminal's echo; then come output, and the exit code", () => {
  expect(read([text(`$ echo\r\n${nonce}^42\r\nout\0\xffput${nonce}$3\n`)])).toEqual([
    { kind: "begun", word: "42" },
    "out\0\xffput",
    { kind: "ended", code: 3 },
  ]);
});

test("a program that the image lacks is named", () => {
  expect(read([text(`${nonce}!stty\n`)])).toEqual([{ kind: "missing", program: "stty" }]);
});

test("marks of the script's own are read after its beginning", () => {
  const stream = new MarkedStream(nonce, { readMark: (line) => (line === "." ? { kind: "done" as const } : undefined) });

  expect(stream.push(text(`${nonce}.\n${nonce}$1\n${nonce}^1\n${nonce}.\n`))).toEqual([{ kind: "begun", word: "1" }, { kind: "done" }]);
});

test("a nonce that no mark follows is output", () => {
  expect(read([text(`${nonce}^1\n`), text(`a ${nonce} b\n${nonce}$999x\nc`)])).toEqual([
    { kind: "begun", word: "1" },
    `a ${nonce} b\n${nonce}$999x\nc`,
  ]);
});

test("what is certain comes at once, though more may follow", () => {
  const stream = new MarkedStream(nonce);
  stream.push(text(`${nonce}^1\n`));
  expect(stream.push(text("prompt> "))).toEqual([{ kind: "output", bytes: text("prompt> ") }]);
  expect(stream.push(text("vk-12"))).toEqual([]);
  expect(stream.push(text("99"))).toEqual([{ kind: "output", bytes: text("vk-1299") }]);
});

test("however the bytes are cut, the same comes of them", () => {
  const whole = text(`echo\r\n${nonce}^7\nsome vk- output vk-1234 vk-vk-1234-x\n\n${nonce}$0\n`);
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: whole.length }), { maxLength: 12 }), (cuts) => {
      const at = [0, ...cuts.toSorted((a, b) => a - b), whole.length];
      const chunks = at.slice(1).map((end, index) => whole.subarray(at[index], end));
      expect(read(chunks)).toEqual(read([whole]));
    }),
  );
});
