import { expect, test } from "vitest";
import type { BackoffRecord } from "./container-life.ts";
import { backoffAfter, goSeconds } from "./restart-backoff.ts";

test("a container that crashes at once is restarted after 0, 10, 20, … 300 seconds", () => {
  const delays: number[] = [];
  let record: BackoffRecord | undefined;
  let nowMs = 0;
  for (let crash = 0; crash < 8; crash++) {
    const verdict = backoffAfter(record, nowMs);
    delays.push(verdict.delayMs / 1000);
    record = verdict.next;
    nowMs = verdict.dueMs;
  }

  expect(delays).toEqual([0, 10, 20, 40, 80, 160, 300, 300]);
});

test("a container that ran for more than ten minutes starts with the initial back-off again", () => {
  const record = { delayMs: 300_000, usedAtMs: 0 };

  expect(backoffAfter(record, 600_000).delayMs).toBe(300_000);
  expect(backoffAfter(record, 600_001)).toMatchObject({ delayMs: 0, next: { delayMs: 10_000 } });
});

test.for([
  [10_000, "10s"],
  [80_000, "1m20s"],
  [300_000, "5m0s"],
] as const)("%d ms are %s", ([ms, text]) => {
  expect(goSeconds(ms)).toBe(text);
});
