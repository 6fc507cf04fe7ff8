import { expect, test } from "vitest";
import { LastLines, LineCutter, shareOfTail, type LineStart } from "./log-lines.ts";

const timeAt = (offset: number): number => (offset < 8 ? 1000 : 2000);
const texts = (blocks: readonly { timeMs: number; bytes: Uint8Array }[]): unknown =>
  blocks.map(({ timeMs, bytes }) => [timeMs, Buffer.from(bytes).toString()]);

test("lines come whole, those of one time together, and the last one at the end", () => {
  const cutter = new LineCutter({ timeAt, withTimes: false });

  expect(texts(cutter.push({ offset: 0, bytes: Buffer.from("one\ntw") }))).toEqual([[1000, "one\n"]]);
  expect(texts(cutter.push({ offset: 6, bytes: Buffer.from("o\nthree\nfour") }))).toEqual([
    [1000, "two\n"],
    [2000, "three\n"],
  ]);
  expect(texts(cutter.end())).toEqual([[2000, "four"]]);
  expect(cutter.end()).toEqual([]);
});

test("a line begins with the time of its first byte", () => {
  const cutter = new LineCutter({ timeAt, withTimes: true });

  expect(texts(cutter.push({ offset: 4, bytes: Buffer.from("across\nlater\n") }))).toEqual([
    [1000, "1970-01-01T00:00:01.000Z across\n"],
    [2000, "1970-01-01T00:00:02.000Z later\n"],
  ]);
});

test("a line that is too long to be held comes in parts, with one time", () => {
  const cutter = new LineCutter({ timeAt: () => 0, withTimes: true });
  const long = Buffer.alloc(300_000, "x");

  const [first] = cutter.push({ offset: 0, bytes: long });
  const [rest] = cutter.push({ offset: 300_000, bytes: Buffer.from("end\nnext\n") });

  expect(Buffer.from(first?.bytes ?? []).toString()).toBe(`1970-01-01T00:00:00.000Z ${long.toString()}`);
  expect(Buffer.from(rest?.bytes ?? []).toString()).toBe("end\n1970-01-01T00:00:00.000Z next\n");
});

test("the last lines are found wherever chunks end, one that does not end among them", () => {
  const find = (count: number): number[] => {
    const last = new LastLines(count, timeAt);
    for (const [offset, text] of [
      [0, "a\nbb"],
      [4, "b\n"],
      [6, "cc\nd"],
    ] as const)
      last.push({ offset, bytes: Buffer.from(text) });
    return last.starts().map(({ offset }) => offset);
  };

  expect([find(0), find(1), find(2), find(9)]).toEqual([[], [9], [6, 9], [0, 2, 6, 9]]);
});

test.each([
  ["the later lines", [1, 2, 3], [4, 5], 3, [1, 2]],
  ["one of each in turn where times do not differ", [1, 1, 1], [1, 1, 1], 3, [2, 1]],
  ["all of one where the other has none", [], [1, 1, 1], 2, [0, 2]],
  ["no more than there are", [1], [2], 9, [1, 1]],
  ["none", [1], [2], 0, [0, 0]],
] as const)("a tail of both outputs is %s", (_, stdout, stderr, count, wanted) => {
  const starts = (times: readonly number[]): LineStart[] => times.map((timeMs, offset) => ({ offset, timeMs }));

  expect(shareOfTail([starts(stdout), starts(stderr)], count)).toEqual(wanted);
});
