import fc from "fast-check";
import { expect, test } from "vitest";
import { gapText, withoutCutEnd, type OutputCursor, type SnapshotContext } from "./output-cursor.ts";
import { TextCursor } from "./text-cursor.ts";
import { TimedCursor } from "./timed-cursor.ts";

const plain: SnapshotContext = { isLimited: false, isLast: false, hasRestarted: undefined };
const time = (second: number): string => `2026-01-01T00:00:${String(second).padStart(2, "0")}.000000001Z`;
const at = (second: number, text: string): string => `${time(second)} ${text}\n`;

/** What a follower reads if the snapshots follow each other. */
function follow(cursor: OutputCursor, snapshots: readonly string[], context: SnapshotContext = plain): (string | undefined)[] {
  return snapshots.map((text) => cursor.advance(text, context));
}

test("output without times is continued where the previous snapshot ended, also within a line", () => {
  const cursor = new TextCursor("one\ntw");

  expect(follow(cursor, ["one\ntwo\n", "one\ntwo\n", "one\ntwo\nthree", "o\nthree\nfour"])).toEqual(["o\n", "", "three", "\nfour"]);
});

test("equal lines are all returned", () => {
  expect(follow(new TextCursor("tick\n"), ["tick\ntick\n", "tick\ntick\n", "tick\ntick\ntick\n"])).toEqual(["tick\n", "", "tick\n"]);
  expect(
    follow(new TimedCursor(at(1, "tick")), [`${at(1, "tick")}${at(1, "tick")}`, `${at(1, "tick")}${at(1, "tick")}${at(1, "tock")}`]),
  ).toEqual([at(1, "tick"), at(1, "tock")]);
});

test("a character that is cut between its bytes is returned once, and whole", () => {
  const cut = (text: string, from: number, to?: number): string => Buffer.from(text).subarray(from, to).toString();
  const text = "caf\u00e9 \u{1F600}\n";

  expect(follow(new TextCursor(cut(text, 0, 4)), [cut(text, 0, 8), cut(text, 0)])).toEqual(["\u00e9 ", "\u{1F600}\n"]);
  expect(follow(new TextCursor(`${text}more text than a few\n`), [`${cut(text, 8)}more text than a few\nnew\n`])).toEqual(["new\n"]);
  expect(["\uD83D", "a\uFFFD\uFFFD", "a"].map(withoutCutEnd)).toEqual(["", "a", "a"]);
  expect(new TextCursor("a").advance("a\uFFFD", { ...plain, isLast: true })).toBe("\uFFFD");
});

test("a restart begins the output again, without a word on missing output", () => {
  const long = "line of the first instance\n".repeat(1_000);

  expect(follow(new TextCursor("start one\nwork\ncrash\n"), ["start two\n", "start two\nwork\n"])).toEqual(["start two\n", "work\n"]);
  expect(follow(new TextCursor("start\nwork\n"), ["start\n"])).toEqual(["start\n"]);
  expect(new TextCursor("no newline").advance("start two\n", plain)).toBe("\nstart two\n");
  expect(new TextCursor("start one\n").advance(long, { ...plain, hasRestarted: true })).toBe(long);
  expect(new TimedCursor(at(1, "start")).advance(at(9, "start"), plain)).toBe(at(9, "start"));
});

test("a snapshot that shows an earlier state is passed over", () => {
  const context = { ...plain, hasRestarted: false };

  expect(follow(new TextCursor("a\nb\nc\n"), ["a\nb\n", "", "a\nb\nc\nd\n"], context)).toEqual(["", "", "d\n"]);
  expect(follow(new TimedCursor(at(1, "a") + at(2, "b")), [at(1, "a"), "", at(1, "a") + at(2, "b") + at(3, "c")], context)).toEqual([
    "",
    "",
    at(3, "c"),
  ]);
});

test("output that no longer reaches back is preceded by one line that says so", () => {
  const before = Array.from({ length: 500 }, (_, index) => `before ${index}\n`).join("");
  const after = Array.from({ length: 600 }, (_, index) => `after ${index}\n`).join("");
  const timed = (text: string, second: number): string => text.replace(/^/gm, `${time(second)} `).slice(0, -time(second).length - 1);

  expect(new TextCursor(before).advance(after, plain)).toBe(`${gapText}${after}`);
  expect(new TextCursor(before.slice(0, -1)).advance(after, plain)).toBe(`\n${gapText}${after}`);
  expect(new TimedCursor(timed(before, 1)).advance(timed(after, 2), plain)).toBe(`${time(2)} ${gapText}${timed(after, 2)}`);
  expect(new TimedCursor(timed(before, 1).slice(0, -1)).advance(timed(after, 2), plain)).toBe(`\n${time(2)} ${gapText}${timed(after, 2)}`);
});

test("of a container that has ended, a shorter snapshot without the position means lost output, too", () => {
  const before = "before the end\n".repeat(1_000);
  const after = Array.from({ length: 600 }, (_, index) => `after ${index}\n`).join("");

  expect(new TextCursor(before).advance(after, { ...plain, isLast: true })).toBe(`${gapText}${after}`);
  expect(new TextCursor(before).advance(after, plain)).toBe(after);
  expect(new TextCursor(before).advance("bye\n", { ...plain, isLast: true })).toBe("bye\n");
});

test("a limited snapshot without the position asks for more lines, and moves nothing", () => {
  const limited = { ...plain, isLimited: true };
  const [text, timed] = [new TextCursor("a\n"), new TimedCursor(at(1, "a"))];

  expect([text.advance("c\nd\n", limited), timed.advance(at(3, "c"), limited)]).toEqual([undefined, undefined]);
  expect([text.advance("a\nb\nc\nd\n", plain), timed.advance(at(1, "a") + at(2, "b") + at(3, "c"), plain)]).toEqual([
    "b\nc\nd\n",
    at(2, "b") + at(3, "c"),
  ]);
  expect([new TextCursor("").advance("c\n", limited), new TimedCursor("").advance(at(3, "c"), limited)]).toEqual([undefined, undefined]);
  expect([new TextCursor("").advance("c\n", plain), new TimedCursor("").advance(at(3, "c"), plain)]).toEqual(["c\n", at(3, "c")]);
});

test("a snapshot of the last lines is found again within one of all lines", () => {
  expect(follow(new TextCursor("2\n3\n"), ["1\n2\n3\n4\n"])).toEqual(["4\n"]);
  expect(follow(new TimedCursor(at(2, "b") + at(3, "c")), [at(1, "a") + at(2, "b") + at(3, "c") + at(4, "d")])).toEqual([at(4, "d")]);
});

test("a line that arrives up to ten seconds late is returned, and an older one is not", () => {
  const cursor = new TimedCursor(at(1, "a") + at(20, "d"));

  expect(cursor.advance(at(1, "a") + at(2, "late") + at(15, "c") + at(20, "d"), plain)).toBe(at(15, "c"));
});

test("a line without a time belongs to the line before, and is returned once", () => {
  const trace = `${at(1, "Error")}  at main\n`;
  const cursor = new TimedCursor(at(1, "Error"));

  expect(follow(cursor, [trace, `${trace}  at end\n${at(2, "b")}`, `  at end\n${at(2, "b")}`])).toEqual([
    "  at main\n",
    `  at end\n${at(2, "b")}`,
    "",
  ]);
});

test("a line with a time that is not complete is returned as it grows", () => {
  const cursor = new TimedCursor(at(1, "a"));
  const snapshots = [`${at(1, "a")}${time(2)} b`, `${at(1, "a")}${time(2)} bc`, `${time(2)} bc\n${time(3)} d`, `${at(4, "e")}`];

  expect(follow(cursor, snapshots)).toEqual([`${time(2)} b`, "c", `\n${time(3)} d`, `\n${at(4, "e")}`]);
});

/** Output of a container, and the moments at which it is read: lengths in bytes. */
interface History {
  readonly bytes: Buffer;
  readonly reads: readonly number[];
  readonly window: number;
}

function histories(line: fc.Arbitrary<string>, window: fc.Arbitrary<number>): fc.Arbitrary<History> {
  return fc
    .record({
      lines: fc.array(line, { maxLength: 200, size: "max" }),
      parts: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 }),
      window,
    })
    .map((all) => {
      const bytes = Buffer.from(numbered(all.lines));
      return {
        bytes,
        reads: [...all.parts.map((part) => Math.floor(part * bytes.length)).toSorted((a, b) => a - b), bytes.length],
        window: all.window,
      };
    });
}

/** Reads a history, and returns all of it that a follower gets after the first read. */
function readAll(
  { bytes, reads, window }: History,
  cursorAt: (first: string) => OutputCursor,
): { readonly text: string; readonly lost: boolean } {
  const snapshot = (length: number): string => bytes.subarray(Math.max(0, length - window), length).toString();
  const [first = 0, ...others] = reads;
  const cursor = cursorAt(snapshot(first));
  const pieces = others.map((length, index) =>
    cursor.advance(snapshot(length), { ...plain, hasRestarted: false, isLast: index === others.length - 1 }),
  );
  const lost = others.some((length, index) => length - (reads[index] ?? 0) > window);
  return { text: pieces.join(""), lost };
}

/** A line with characters of one to four bytes; see {@link numbered}. */
const wideLine = fc.nat(15).map((width) => "#\u00e9\u{1F600} ".repeat(width + 1).concat("\n"));

/** Makes all parts of a line unlike those of other lines. */
function numbered(lines: readonly string[]): string {
  return lines.map((line, index) => line.replaceAll("#", String(1_000 + index))).join("");
}

test("whatever is written and whenever it is read, output without times is returned once, or its loss is told", () => {
  fc.assert(
    fc.property(histories(wideLine, fc.integer({ min: 5_000, max: 8_000 })), (history) => {
      const { bytes, reads } = history;
      // Without any output before it, a snapshot of the last part cannot be told from one of all of it.
      fc.pre((reads[0] ?? 0) > 0);
      const { text, lost } = readAll(history, (first) => new TextCursor(first));
      const all = bytes
        .subarray(Math.min(bytes.length, reads[0] ?? 0))
        .toString()
        .replace(/^\uFFFD+/, "");

      if (lost) expect(text).toContain(gapText.trimEnd());
      else if (reads.length > 1) expect(text.endsWith(all) && text.length - all.length <= 4).toBe(true);
    }),
    { endOnFailure: true },
  );
});

test("output that only grows is returned exactly, whatever its lines repeat", () => {
  const line = fc.constantFrom("a\n", "b\n", "\n", "a", "ab\n");
  fc.assert(
    fc.property(histories(line, fc.constant(1e9)), (history) => {
      const { text } = readAll(history, (first) => new TextCursor(first));
      expect(text).toBe(history.bytes.subarray(history.reads[0] ?? 0).toString());
    }),
  );
});

test("output with times is returned exactly, whatever its lines and times repeat", () => {
  const lines = fc.array(fc.tuple(fc.nat(2), fc.constantFrom("a", "b", "", "a b")), { maxLength: 200 }).map((steps) => {
    let second = 0;
    return steps.map(([step, text]) => at((second = Math.min(59, second + step)), text));
  });
  fc.assert(
    fc.property(
      lines,
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 10 }),
      fc.integer({ min: 20, max: 200 }),
      (all, parts, window) => {
        const reads = [...parts.map((part) => Math.floor(part * all.length)).toSorted((a, b) => a - b), all.length];
        const snapshot = (count: number): string => all.slice(Math.max(0, count - window), count).join("");
        const cursor = new TimedCursor(snapshot(reads[0] ?? 0));
        const pieces = reads
          .slice(1)
          .map((count, index) => ((count - (reads[index] ?? 0)) * 2 > window ? undefined : cursor.advance(snapshot(count), plain)));
        fc.pre(!pieces.includes(undefined));
        const slid = reads.some((count) => count > window);
        const expected = all.slice(reads[0] ?? 0).join("");

        // Of equal lines of one instant, those that slide out cannot be told from those that come.
        if (slid) expect(expected.length - pieces.join("").length).toBeGreaterThanOrEqual(0);
        else expect(pieces.join("")).toBe(expected);
      },
    ),
  );
});

const hour = (text: string): string => `2026-01-01T01:00:00Z ${text}\n`;

test("output goes on when the container's clock is set back, and after a line of the future", () => {
  const start = hour("a");
  expect(follow(new TimedCursor(start), [start + at(1, "b"), start + at(1, "b") + at(0, "b") + at(2, "c")])).toEqual([
    at(1, "b"),
    at(0, "b") + at(2, "c"),
  ]);
  const future = at(1, "a") + hour("future");
  expect(follow(new TimedCursor(at(1, "a")), [future, future + at(2, "b"), future + at(2, "b") + at(3, "c")])).toEqual([
    hour("future"),
    at(2, "b"),
    at(3, "c"),
  ]);
});

test("the output of an instance on a machine whose clock is behind is returned, also when only its last lines are asked for", () => {
  const restarted = { ...plain, hasRestarted: true };
  expect(new TimedCursor(hour("a")).advance(at(1, "b"), restarted)).toBe(at(1, "b"));
  const cursor = new TimedCursor(hour("a"));
  expect(cursor.advance(at(2, "c"), { ...plain, isLimited: true })).toBeUndefined();
  expect(cursor.advance(hour("a") + at(1, "b") + at(2, "c"), plain)).toBe(at(1, "b") + at(2, "c"));
});

test("a read that shows a much earlier state repeats no line", () => {
  const all = at(1, "a") + at(20, "b") + at(40, "c") + at(59, "d");

  expect(follow(new TimedCursor(all), [at(1, "a"), at(1, "a") + at(20, "b"), all, all + hour("e")])).toEqual(["", "", "", hour("e")]);
});
