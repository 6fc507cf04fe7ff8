import { expect, test } from "vitest";
import { SharedBudget } from "@virtual-kubelet/streaming";
import { LineSkipper, TailBuffer } from "./tail-buffer.ts";

/** A buffer to which these chunks were added. */
function tailOf(wanted: number, chunks: readonly string[], maxBytes = 1_000_000): TailBuffer {
  const tail = new TailBuffer(wanted, maxBytes);
  for (const chunk of chunks) tail.push(Buffer.from(chunk));
  return tail;
}

const textsOf = (chunks: readonly Uint8Array[]): string[] => chunks.map((chunk) => Buffer.from(chunk).toString());

test.each([
  [1, ["a\nb\nc\n"], ["c\n"], 3],
  [1, ["a\nb\n", "c"], ["c"], 3],
  [2, ["a\nb\nc"], ["b\nc"], 3],
  [2, ["a\n", "b", "b\n", "c\n"], ["b", "b\n", "c\n"], 3],
  [3, ["a\n", "b\n"], ["a\n", "b\n"], 2],
  [0, ["a\n", "b"], [], 2],
  [2, [], [], 0],
  [1, ["", "a", ""], ["a"], 1],
  [1, ["a\n", ""], ["a\n"], 1],
  [2, ["\n\n\n"], ["\n\n"], 3],
])("the last %i lines of %j are %j, of %i", (wanted, chunks, expected, lines) => {
  const tail = tailOf(wanted, chunks);

  expect([textsOf(tail.take()), tail.lines, tail.overflowed]).toEqual([expected, lines, false]);
});

test("a chunk counts with its bytes and its memory overhead", () => {
  expect(tailOf(1, ["x".repeat(872)], 1_000).overflowed).toBe(false);
  expect(tailOf(1, ["x".repeat(873)], 1_000).overflowed).toBe(true);
  expect(tailOf(9, ["x", "x"], 257).overflowed).toBe(true);
  expect(tailOf(9, ["x", "x"], 258).overflowed).toBe(false);
});

test("chunks without a wanted line no longer count", () => {
  const line = `${"x".repeat(99)}\n`;

  // Three are kept, because a wanted line may begin in the middle of the first one.
  expect(
    tailOf(
      2,
      Array.from({ length: 50 }, () => line),
      3 * 228,
    ).overflowed,
  ).toBe(false);
  expect(
    tailOf(
      2,
      Array.from({ length: 50 }, () => line),
      3 * 228 - 1,
    ).overflowed,
  ).toBe(true);
});

test("if the lines do not fit, they are counted but not kept", () => {
  const tail = tailOf(5, [...Array.from({ length: 10 }, (_, index) => `${index}\n`), "end"], 300);

  expect([tail.overflowed, tail.take(), tail.lines]).toEqual([true, [], 11]);
});

test("the tail and the number of lines are right for logs of any length", () => {
  const chunks = Array.from({ length: 5_000 }, (_, index) => `line ${index}\n`);

  for (const count of [1_023, 1_024, 1_025, 1_030, 2_050, 3_000, 5_000]) {
    const tail = tailOf(3, chunks.slice(0, count));
    expect(textsOf(tail.take()).join(""), String(count)).toBe(chunks.slice(count - 3, count).join(""));
    expect(tail.lines).toBe(count);
  }
  expect(textsOf(tailOf(2_000, chunks).take()).join("")).toBe(chunks.slice(-2_000).join(""));
});

test("a tail of no lines keeps nothing, however long the log is", () => {
  const tail = tailOf(0, ["x".repeat(10_000)], 10);

  expect([tail.overflowed, tail.take(), tail.lines]).toEqual([false, [], 1]);
});

test.each([
  [0, ["a\nb\n"], ["a\nb\n"]],
  [1, ["a\nb\n", "c\n"], ["b\n", "c\n"]],
  [2, ["a", "a\n", "b\nc\n"], ["", "", "c\n"]],
  [2, ["a\nb\n", "c"], ["", "c"]],
  [3, ["a\n", "b\n"], ["", ""]],
])("all except the first %i lines of %j are %j", (lines, chunks, expected) => {
  const skip = new LineSkipper(lines);

  expect(textsOf(chunks.map((chunk) => skip.push(Buffer.from(chunk))))).toEqual(expected);
});

test("a log that exceeds the limit only at its end keeps nothing either", () => {
  const tail = tailOf(2_000, [...Array.from({ length: 3_000 }, () => "x\n"), `${"y".repeat(1_000_000)}\n`], 600_000);

  expect([tail.overflowed, tail.take(), tail.lines]).toEqual([true, [], 3_001]);
});

test("tails of one caller beyond half of the common budget are not kept until others are released", () => {
  const budget = new SharedBudget(4_000);
  const open = (): TailBuffer => {
    const tail = new TailBuffer(100, 1_000_000, budget.share("tenant"));
    tail.push(Buffer.alloc(872, "x\n"));
    return tail;
  };
  const [first, second, third] = [open(), open(), open()];

  expect([first, second, third].map(({ overflowed }) => overflowed)).toEqual([false, false, true]);
  first?.[Symbol.dispose]();
  expect(open().overflowed).toBe(false);
  expect(budget.used).toBe(2_000);
});
