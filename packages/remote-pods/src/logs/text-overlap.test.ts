import fc from "fast-check";
import { expect, test } from "vitest";
import { overlapLength } from "./text-overlap.ts";

test.each([
  ["", "a\n", 0],
  ["a\nb\n", "a\nb\nc\n", 4],
  ["a\nb\n", "b\nc\n", 2],
  ["a\nb", "bc\n", undefined],
  ["a\nb", "a\nbc\n", 3],
  ["tick\ntick\n", "tick\ntick\ntick\n", 10],
  ["x\ntick\ntick\n", "tick\ntick\ntick\n", 10],
  ["a\nb\n", "b\n", 2],
  ["a\nb\n", "c\nd\n", undefined],
  ["0123456789abcdef", "456789abcdef0123 and more", undefined],
  ["the line 0123456789abcdef", "0123456789abcdef and more", 16],
])("of %j and %j, %j characters are the same", (before, text, expected) => {
  expect(overlapLength(before, text)).toBe(expected);
});

function expectLongest(before: string, next: string): void {
  const lengths = Array.from({ length: Math.min(before.length, next.length) + 1 }, (_, length) => length);
  const longest = lengths.findLast((length) => before.endsWith(next.slice(0, length))) ?? 0;
  const isCertain = next.startsWith(before) || longest === next.length || longest >= 16 || next.slice(0, longest).includes("\n");
  expect(overlapLength(before, next)).toBe(isCertain ? (next.startsWith(before) ? before.length : longest) : undefined);
}

test("the longest overlap is found, as by trying all of them", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "\n"), maxLength: 40 });
  fc.assert(fc.property(text, text, expectLongest));
});

test("the longest overlap of long texts is found, also if they repeat themselves", () => {
  const text = fc
    .array(fc.constantFrom("tick\n", "ticktick\n", "tock\n"), { minLength: 100, maxLength: 200 })
    .map((parts) => parts.join(""));
  const count = fc.integer({ min: 0, max: 1_000 });
  const property = fc.property(text, text, count, (before, fresh, cut) => expectLongest(before, `${before.slice(cut)}${fresh}`));
  fc.assert(property, { numRuns: 30, endOnFailure: true });
  const ticks = "tick\n".repeat(200);
  expectLongest(`tock\n${ticks}`, `${ticks}tack\n`);
  expectLongest(ticks, `${ticks.slice(0, 300)}tack\n${ticks}`);
});
