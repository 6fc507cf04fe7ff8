import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import { noMetrics, silentLogger, type Metrics } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { FailingNodes } from "./failing-nodes.ts";

/** The failures of nodes, with what is logged of them. */
class Rig {
  readonly clock = new VirtualClock();
  readonly logged: unknown[] = [];
  readonly gauges: number[] = [];
  readonly failing: FailingNodes;

  constructor(metrics: Partial<Metrics> = {}) {
    this.failing = new FailingNodes({
      durationMs: 40_000,
      clock: this.clock,
      random: new SeededRandom(1),
      logger: { ...silentLogger, error: (fields: object) => void this.logged.push(fields) },
      metrics: { ...noMetrics, gauge: (_name, value) => void this.gauges.push(value), ...metrics },
    });
  }

  fail(): void {
    this.failing.note("sim-1", new Error("no back end"), false);
  }

  /** Attempt of the last failure. */
  get attempt(): number | undefined {
    return this.failing.list()[0]?.attempt;
  }
}

test("a node that fails soon after each time it was ready is tried less and less often", async () => {
  const rig = new Rig();
  for (let attempt = 1; attempt <= 8; attempt++) {
    rig.fail();
    expect(rig.attempt).toBe(attempt);
    rig.failing.noteReady("sim-1");
    expect([rig.failing.size, rig.failing.list()]).toEqual([0, []]);
    await rig.clock.advance(5_000);
    rig.failing.noteReady("sim-1");
  }
  rig.fail();
  await rig.clock.advance(60_000);
  expect(rig.failing.isDue("sim-1")).toBe(false);
  expect(rig.gauges.slice(0, 4)).toEqual([1, 0, 1, 0]);
});

test("the failures of a node that has been ready for two minutes no longer count, whether they were looked at or not", async () => {
  const rig = new Rig();
  for (const isLookedAt of [true, false]) {
    rig.fail();
    rig.fail();
    rig.failing.noteReady("sim-1");
    await rig.clock.advance(120_000);
    if (isLookedAt) rig.failing.noteReady("sim-1");
    rig.fail();
    expect(rig.attempt).toBe(1);
    rig.failing.forget("sim-1");
  }
});

test("a node that fails for long has a line for its first three failures and for every tenth", () => {
  const rig = new Rig();
  for (let attempt = 1; attempt <= 30; attempt++) rig.fail();
  expect(rig.logged).toMatchObject([1, 2, 3, 10, 20, 30].map((attempt) => ({ attempt })));
});

test("the failing nodes of a program's lists are added up where there are scrapes, until a list ends", () => {
  const series = new Set<() => number>();
  const sampled: Metrics["sampled"] = (_name, read) => {
    series.add(read);
    return { [Symbol.dispose]: () => void series.delete(read) };
  };
  const rigs = [new Rig({ sampled }), new Rig({ sampled })];
  const total = (): number => [...series].reduce((sum, read) => sum + read(), 0);
  for (const rig of rigs) rig.fail();
  expect([total(), rigs.flatMap(({ gauges }) => gauges)]).toEqual([2, []]);

  rigs[0]?.failing.noteReady("sim-1");
  expect(total()).toBe(1);
  for (const { failing } of rigs) failing[Symbol.dispose]();
  expect(series.size).toBe(0);
});
