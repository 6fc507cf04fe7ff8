import { VirtualClock } from "@virtual-kubelet/clock";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { ProcessorTimes, tryProcessorTime } from "./processor-times.ts";

const signal = new AbortController().signal;

class Rig {
  readonly clock = new VirtualClock();
  /** What each command answers; an error is thrown. */
  answer: string | Error = "usage_usec 5\n";
  commands = 0;
  readonly times: ProcessorTimes;

  constructor(intervalMs = 60_000) {
    const execute = async (): Promise<{ output: string }> => {
      this.commands++;
      if (this.answer instanceof Error) throw this.answer;
      return { output: this.answer };
    };
    this.times = new ProcessorTimes({ api: { execute }, clock: this.clock, logger: silentLogger, intervalMs });
  }

  /** Scrapes every 15 seconds for so many minutes. */
  async scrape(minutes: number): Promise<void> {
    for (let at = 0; at < minutes * 4; at++) {
      await this.times.of("c1", signal);
      await this.clock.advance(15_000);
    }
  }
}

test("a container runs one command an interval, however often it is asked for; in between it tells what it read, with its time", async () => {
  const rig = new Rig();
  const first = await rig.times.of("c1", signal);
  await rig.clock.advance(59_000);
  rig.answer = "usage_usec 9\n";

  expect(await rig.times.of("c1", signal)).toEqual(first);
  expect(first?.coreNanoSeconds).toBe(5_000);
  await rig.clock.advance(1_000);
  expect((await rig.times.of("c1", signal))?.coreNanoSeconds).toBe(9_000);
  expect(rig.commands).toBe(2);
});

test("a failure ends the figures for a while, and not for good", async () => {
  const rig = new Rig();
  const before = await rig.times.of("c1", signal);
  rig.answer = new Error("no such host");
  await rig.clock.advance(60_000);

  expect(await rig.times.of("c1", signal)).toEqual(before);
  rig.answer = "usage_usec 9\n";
  expect(await rig.times.of("c1", signal)).toEqual(before);
  await rig.clock.advance(60_000);
  expect((await rig.times.of("c1", signal))?.coreNanoSeconds).toBe(9_000);
});

test.for([["cat: not found\n"], [""], [new Error("exec failed")]] as const)(
  "a container that always answers %j is asked ever more rarely",
  async ([answer]) => {
    const rig = new Rig();
    rig.answer = answer;

    await rig.scrape(60);
    expect(rig.commands).toBe(6);
    await rig.scrape(24 * 60);
    expect(rig.commands).toBeLessThan(6 + 24);
  },
);

test("with 0 no command is ever run", async () => {
  const rig = new Rig(0);

  expect(await rig.times.of("c1", signal)).toBeUndefined();
  expect(rig.commands).toBe(0);
});

test("a container that is gone is forgotten", async () => {
  const rig = new Rig();
  await rig.times.of("c1", signal);
  rig.times.keep(new Set());
  await rig.times.of("c1", signal);

  expect(rig.commands).toBe(2);
});

test.for([
  ["usage_usec 1234\nuser_usec 1000\n", 1_234_000],
  ["cat: /sys/fs/cgroup/cpu.stat: No such file or directory\n5678\n", 5678],
  ["cat: not found\n", undefined],
] as const)("processor time is read from a control group of either version: %j", ([output, nanoSeconds]) => {
  expect(tryProcessorTime(output)).toBe(nanoSeconds);
});
