import fc from "fast-check";
import { expect, test } from "vitest";
import { parseLogEntry, timeOf, type LogEntry } from "./log-entry.ts";
import { LogWindowFinder, type LogWindow } from "./log-window.ts";

/** Entries of lines, each as the texts of its parts. */
function entries(lines: readonly (readonly string[])[], nanosOf: (index: number) => number = (index) => index): LogEntry[] {
  return lines
    .flatMap((parts) => parts.map((part, index) => (index === parts.length - 1 ? `${part}\n` : part)))
    .map((text, index) => parseLogEntry(Buffer.from(`2026-11-21T07:20:44.${String(nanosOf(index)).padStart(9, "0")}Z ${text}`)));
}

/** What an engine would give of the window. */
function within(log: readonly LogEntry[], window: LogWindow | "all"): string {
  if (window === "all") return text(log);
  const { since, skip, until } = window;
  return text(log.filter((entry) => timeOf(entry) >= since && timeOf(entry) <= until).slice(skip));
}

function text(log: readonly LogEntry[]): string {
  return log.map(({ bytes, textAt }) => bytes.toString("utf8", textAt)).join("");
}

/** Looks at ever more of the log's last entries. */
function find(log: readonly LogEntry[], lines: number): { readonly window: LogWindow | "all"; readonly looks: number } {
  for (let tail = lines + 1, looks = 1; ; tail *= 8, looks++) {
    const finder = new LogWindowFinder(lines);
    for (const entry of log.slice(-tail)) finder.push(entry);
    const window = finder.end(tail);
    if (window !== undefined) return { window, looks };
  }
}

test("the last lines are found at the first look where none is long", () => {
  const log = entries(Array.from({ length: 50 }, (_, index) => [`line ${index}`]));

  const { window, looks } = find(log, 3);

  expect(looks).toBe(1);
  expect(within(log, window)).toBe("line 47\nline 48\nline 49\n");
});

test("a long line counts as one", () => {
  const log = entries([["a"], ["b"], Array.from({ length: 20 }, (_, index) => `part ${index} `), ["c"]]);

  expect(within(log, find(log, 2).window)).toBe(text(log.slice(2)));
  expect(within(log, find(log, 3).window)).toBe(text(log.slice(1)));
});

test("a log that is shorter is taken as a whole", () => {
  const log = entries([["a"], ["b"]]);

  expect(find(log, 2).window).not.toBe("all");
  expect(find(log, 3).window).toBe("all");
  expect(find([], 3).window).toBe("all");
});

test("however long lines are and however coarse times, the window holds just the last lines", () => {
  const line = fc.array(fc.constantFrom("x", "yy"), { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(
      fc.array(line, { maxLength: 40 }),
      fc.integer({ min: 1, max: 10 }),
      fc.integer({ min: 1, max: 5 }),
      (lines, wanted, coarse) => {
        const log = entries(lines, (index) => Math.floor(index / coarse));

        expect(within(log, find(log, wanted).window)).toBe(text(entries(lines.slice(-wanted))));
      },
    ),
  );
});
