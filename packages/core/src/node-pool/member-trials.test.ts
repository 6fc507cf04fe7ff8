import { silentLogger } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { MemberTrials } from "./member-trials.ts";

/** What instance `a`, with Leases of 1 s, has seen of `b`. */
class Rig {
  readonly trials: MemberTrials;
  readonly warnings: unknown[] = [];
  #nowMs = 0;
  #start = 0;

  constructor() {
    const logger = { ...silentLogger, warn: (fields: object) => void this.warnings.push(fields) };
    this.trials = new MemberTrials({ identity: "a", durationMs: 1_000, logger });
  }

  /** Observes for a time. @returns how long `b` did not count */
  observe(b: string | undefined, forMs: number): number {
    let onTrialMs = 0;
    for (const untilMs = this.#nowMs + forMs; this.#nowMs < untilMs; this.#nowMs += 100) {
      const live = new Map(Object.entries({ ...(b !== undefined && { b }), a: "1" }));
      const counted = this.trials.observe(live, this.#nowMs);
      expect(counted).toEqual(counted.includes("b") ? ["a", "b"] : ["a"]);
      if (b !== undefined && !counted.includes("b")) onTrialMs += 100;
    }
    return onTrialMs;
  }

  /** A start of `b` that ends, and the time until it starts again. @returns how long it did not count */
  live(forMs: number, awayMs = 500): number {
    const onTrialMs = this.observe(`start-${this.#start++}`, forMs);
    this.observe(undefined, awayMs);
    return onTrialMs;
  }
}

test("a member that ends soon after each start has to live for longer and longer before it counts", () => {
  const rig = new Rig();

  expect(Array.from({ length: 8 }, () => rig.live(15_000))).toEqual([0, 0, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000]);
  expect(rig.warnings[0]).toEqual({ member: "b", shortLives: 2, trialMs: 1_000 });
  expect(rig.warnings).toHaveLength(6);
});

test("a member that has lived for long, or was away for long, counts at once when it starts again", () => {
  const rig = new Rig();
  for (let start = 0; start < 4; start++) rig.live(3_000);
  rig.live(30_000);
  expect(rig.live(3_000)).toBe(0);

  for (let start = 0; start < 4; start++) rig.live(3_000);
  rig.live(3_000, 20_000);
  expect(rig.live(3_000)).toBe(0);
});

test("a restart that is faster than the others notice the end is one, too", () => {
  const rig = new Rig();

  expect(Array.from({ length: 4 }, () => rig.live(3_000, 0))).toEqual([0, 0, 1_000, 2_000]);
});

test("a member that crashes for months is remembered by its last starts only", () => {
  const rig = new Rig();
  for (let start = 0; start < 40; start++) rig.live(300, 100);

  // From a backup: the last start is known again, and the first one no longer.
  expect(rig.observe("start-39", 100)).toBe(100);
  expect(rig.warnings).toHaveLength(38);
  rig.observe("start-0", 100);
  expect(rig.warnings).toHaveLength(39);
});

test("a member whose Lease is deleted or comes from a backup, or that cannot be heard for a time, has not ended", () => {
  const rig = new Rig();
  for (let turn = 0; turn < 4; turn++) {
    expect(rig.observe("start-2", 2_000)).toBe(0);
    expect(rig.observe("start-1", 500)).toBe(0);
    rig.observe(undefined, 1_000);
  }
});
