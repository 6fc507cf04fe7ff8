import fc from "fast-check";
import { expect, test } from "vitest";
import { MarkScanner } from "./mark-scanner.ts";

const nonce = "\0vk-1234";

/** A number behind the nonce is a mark. All pieces as texts, output put together between marks. */
function read(chunks: readonly Uint8Array[]): string[] {
  const scanner = new MarkScanner(nonce, (line) => (/^ \d+$/.test(line) ? { kind: "mark" as const, line } : undefined));
  const texts: string[] = [];
  let output = "";
  for (const piece of [...chunks.flatMap((chunk) => scanner.push(chunk)), ...scanner.end()])
    if (piece.kind === "output") output += piece.bytes.toString("latin1");
    else {
      texts.push(output, piece.line);
      output = "";
    }
  return [...texts, output];
}

test("output before the first mark is kept", () => {
  expect(read([Buffer.from(`early${nonce} 42\nlate`)])).toEqual(["early", " 42", "late"]);
});

test("a line that is too long, or that never ends, is output", () => {
  const line = `${nonce} ${"7".repeat(100)}`;
  expect([read([Buffer.from(`${line}\n`)]), read([Buffer.from(line)])]).toEqual([[`${line}\n`], [line]]);
});

test("marks can be as long as the script needs", () => {
  const scanner = new MarkScanner(nonce, (line) => ({ kind: "mark" as const, line }), { maxLineBytes: 200 });
  const long = "7".repeat(199);

  expect(scanner.push(Buffer.from(`${nonce}${long}\n`))).toEqual([{ kind: "mark", line: long }]);
  expect(scanner.push(Buffer.from(`${nonce}${long}7\n`))).toEqual([
    { kind: "output", bytes: Buffer.from(nonce) },
    { kind: "output", bytes: Buffer.from(`${long}7\n`) },
  ]);
});

test("however the bytes are cut, the same comes of them", () => {
  const whole = Buffer.from(`a\0vk${nonce} 1\nb${nonce} x\n${nonce}${nonce} 2\n${nonce} ${"3".repeat(70)}\nc\0vk-`);
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: whole.length }), { maxLength: 12 }), (cuts) => {
      const at = [0, ...cuts.toSorted((a, b) => a - b), whole.length];
      expect(read(at.slice(1).map((end, index) => whole.subarray(at[index], end)))).toEqual(read([whole]));
    }),
  );
});
