import { expect, test } from "vitest";
import type { Level, Outcome } from "./level.ts";
import { checkCounts, runLevel } from "./run-level.ts";
import { summary } from "./summary.ts";
import type { Counts } from "./vitest-report.ts";

const counts = (change: Partial<Counts>): Counts => ({ passed: 0, failed: 0, skipped: 0, failures: [], ...change });

function level(change: Partial<Level>): Level {
  const run = (): Promise<Counts> => Promise.resolve(counts({ passed: 1 }));
  return { name: "run-level-test", about: "a level of a test", quick: true, kind: "wait", hasFiles: false, run, ...change };
}

function runIt(change: Partial<Level>, requireAll = false): Promise<Outcome> {
  return runLevel(level(change), { requireAll, files: [], live: false, print: () => {} });
}

test("a level that finds no test fails", () => {
  expect(checkCounts(counts({}), false)).toMatchObject({ failed: 1, failures: ["no test was run"] });
});

test("a skipped test stays skipped, and fails where everything is required", () => {
  const found = counts({ passed: 3, skipped: 2 });

  expect(checkCounts(found, false)).toEqual(found);
  expect(checkCounts(found, true)).toMatchObject({ passed: 3, failed: 1, skipped: 2 });
});

test("a level whose needs are missing is skipped, and fails where everything is required", async () => {
  const missing = (): string => "there is no engine: install one";

  expect(await runIt({ missing })).toMatchObject({ counts: { passed: 0, failed: 0, skipped: 1 }, leftOut: missing() });
  expect(await runIt({ missing }, true)).toMatchObject({ counts: { failed: 1, skipped: 0, failures: [missing()] } });
});

test("a level that cannot even look for its needs is left out, and says why", async () => {
  const missing = (): string => {
    throw new Error("no such folder");
  };

  expect(await runIt({ missing })).toMatchObject({ counts: { skipped: 1 }, leftOut: "Error: no such folder" });
});

test("a level that throws fails, and says why", async () => {
  const run = (): Promise<Counts> => Promise.reject(new Error("no disk space"));

  expect(await runIt({ run })).toMatchObject({ counts: { failed: 1, failures: ["Error: no disk space"] } });
});

test("the last line is the sum of what the levels counted", () => {
  const outcome = (found: Counts): Outcome => ({ level: level({}), counts: found, seconds: 1, leftOut: undefined });

  const lines = summary(
    [outcome(counts({ passed: 3 })), outcome(counts({ passed: 2, failed: 1, skipped: 4, failures: ["a.test.ts: x"] }))],
    [],
  );

  expect(lines).toContain("failed: run-level-test: a.test.ts: x");
  expect(lines.at(-1)).toBe("5 passed, 1 failed, 4 skipped");
});
