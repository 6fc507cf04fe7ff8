import fc from "fast-check";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { frame } from "../test-support/frames.ts";
import { framedEntries, terminalEntries } from "./log-entries.ts";
import type { LogEntry } from "./log-entry.ts";
import { linesSince, logLines } from "./log-lines.ts";

const time = (n: number): string => `2026-11-21T07:20:44.${String(n).padStart(9, "0")}Z`;

/** A line as the engine keeps it: entries of 16 KiB at most, each behind a time. */
function entriesOf(line: string, n: number): string[] {
  const parts = line.match(/[^]{1,16384}/g) ?? [];
  return parts.map((part, index) => `${time(n * 10 + index)} ${part}`);
}

function cut(bytes: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => bytes.subarray(index * size, (index + 1) * size));
}

async function textOf(entries: AsyncIterable<readonly LogEntry[]>): Promise<string> {
  let text = "";
  for await (const bytes of logLines(entries)) text += bytes.toString("latin1");
  return text;
}

const short = "short\n";
const long = `${"x".repeat(40_000)}\n`;
const brim = `${"y".repeat(16_384)}\n`;
const almost = `${"z".repeat(16_383)}\n`;
const all = [short, long, brim, almost, "\n", "no end"];
const wanted = all.map((line, n) => `${time(n * 10)} ${line}`).join("");
const parts = all.flatMap(entriesOf);

test.for([31, 4096, 16_384, 16_415, 1_000_000])(
  "long lines in frames come whole, with one time each, in chunks of %i bytes",
  async (size) => {
    const bytes = Buffer.concat(parts.map((part) => frame(1, part)));

    expect(await textOf(framedEntries(Readable.from(cut(bytes, size))))).toBe(wanted);
  },
);

test.for([31, 4096, 16_384, 16_415, 1_000_000])(
  "long lines of a terminal come whole, with one time each, in chunks of %i bytes",
  async (size) => {
    const bytes = Buffer.from(parts.join(""), "latin1");

    expect(await textOf(terminalEntries(Readable.from(cut(bytes, size))))).toBe(wanted);
  },
);

test("a terminal's log comes out the same however it is cut", async () => {
  const line = fc.oneof(fc.string({ unit: "binary-ascii", maxLength: 20 }), fc.constantFrom("x".repeat(16_384), "x".repeat(33_000)));
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 6 }), fc.integer({ min: 500, max: 20_000 }), async (texts, size) => {
      const lines = texts.map((text) => `${text.replaceAll("\n", "")}\n`);
      const bytes = Buffer.from(lines.flatMap(entriesOf).join(""), "latin1");

      expect(await textOf(terminalEntries(Readable.from(cut(bytes, size))))).toBe(
        lines.map((text, n) => `${time(n * 10)} ${text}`).join(""),
      );
    }),
    { numRuns: 20 },
  );
});

test("a line that an engine keeps whole, however long, comes whole from a terminal", async () => {
  const bytes = Buffer.from(`${time(1)} ${long}${time(2)} next\n`);

  expect(await textOf(terminalEntries(Readable.from(cut(bytes, 1000))))).toBe(bytes.toString());
});

test("every line begins with a time, also where the other output gets into a long one", async () => {
  const bytes = [frame(1, `${time(1)} ${"x".repeat(16_384)}`), frame(2, `${time(2)} error\n`), frame(1, `${time(3)} rest\n`)];

  expect(await textOf(framedEntries(Readable.from(bytes)))).toBe(`${time(1)} ${"x".repeat(16_384)}error\n${time(3)} rest\n`);
});

test("an engine's complaint and what has no time are errors", async () => {
  await expect(textOf(framedEntries(Readable.from([frame(3, "Error grabbing logs\n")])))).rejects.toThrow("Error grabbing logs");
  await expect(textOf(framedEntries(Readable.from([frame(1, "timeless\n")])))).rejects.toThrow('without a time: "timeless\\n"');
});

test("lines since a time are those that were begun then or later", async () => {
  const bytes = [
    frame(1, `${time(1)} one\n`),
    frame(1, `${time(2)} two `),
    frame(1, `${time(3)} goes on\n`),
    frame(1, `${time(4)} four\n`),
  ];
  const since = (wanted: string): Promise<string> => textOf(linesSince(framedEntries(Readable.from(bytes)), wanted));

  expect(await since(time(2))).toBe(`${time(2)} two goes on\n${time(4)} four\n`);
  expect(await since(time(3))).toBe(`${time(4)} four\n`);
  expect(await since("2026-11-21T08:20:44.000000004+01:00")).toBe(`${time(4)} four\n`);
  expect(await since("2026-11-21T07:20:45Z")).toBe("");
});
