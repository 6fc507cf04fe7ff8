import { systemClock } from "@virtual-kubelet/kube-client";
import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { hostNodeStats } from "./host-node-stats.ts";

const never = new AbortController().signal;

test("the machine is measured: time of its processors, memory, and the file system of a folder", async () => {
  const measure = hostNodeStats({ nodeName: "n", clock: systemClock, directory: tmpdir() });
  const { cpu, memory, fs, runtime, startTime } = await measure(never);

  expect(Date.parse(startTime)).toBeLessThan(systemClock.now());
  expect(cpu?.usageCoreNanoSeconds).toBeGreaterThan(0);
  expect(memory?.workingSetBytes).toBeGreaterThan(0);
  expect(fs?.capacityBytes).toBeGreaterThan(fs?.usedBytes ?? Infinity);
  expect(runtime?.imageFs).toEqual(fs);
});

test("a folder that is not there has no figures", async () => {
  const { fs } = await hostNodeStats({ nodeName: "n", clock: systemClock, directory: "/nowhere/at/all" })(never);

  expect(fs).toBeUndefined();
});
