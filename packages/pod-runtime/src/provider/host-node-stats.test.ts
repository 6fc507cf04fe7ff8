import { systemClock } from "@virtual-kubelet/clock";
import { cpus, tmpdir, totalmem, uptime } from "node:os";
import { expect, test } from "vitest";
import { hostNodeStats } from "./host-node-stats.ts";

const never = new AbortController().signal;

test("the machine's CPU time, memory, and the file system of a folder are measured", async () => {
  const measure = hostNodeStats({ nodeName: "n", clock: systemClock, directory: tmpdir() });
  const { cpu, memory, fs, runtime, startTime } = await measure(never);

  expect(Date.parse(startTime)).toBeLessThan(systemClock.now());
  expect(cpu?.usageCoreNanoSeconds).toBeGreaterThan(0);
  expect(memory?.workingSetBytes).toBeGreaterThan(0);
  expect(fs?.capacityBytes).toBeGreaterThan(fs?.usedBytes ?? Infinity);
  expect(runtime?.imageFs).toEqual(fs);
});

test("the usage of images, with its time, comes from the runtime", async () => {
  const images = { time: "2026-01-02T03:04:05Z", usedBytes: 7, capacityBytes: 10 };
  const measure = (imageFs: () => typeof images | undefined): ReturnType<ReturnType<typeof hostNodeStats>> =>
    hostNodeStats({ nodeName: "n", clock: systemClock, directory: tmpdir(), imageFs })(never);

  expect((await measure(() => images)).runtime).toEqual({ imageFs: images, containerFs: images });
  expect((await measure(() => undefined)).runtime).toEqual({});
});

test("a folder that does not exist has no figures", async () => {
  const { fs } = await hostNodeStats({ nodeName: "n", clock: systemClock, directory: "/nowhere/at/all" })(never);

  expect(fs).toBeUndefined();
});

test("parts of memory and disks add up, and all figures have the same time", async () => {
  const { cpu, memory, fs, runtime } = await hostNodeStats({ nodeName: "n", clock: systemClock, directory: tmpdir() })(never);

  expect(memory!.availableBytes! + memory!.workingSetBytes!).toBeGreaterThan(0);
  expect(memory!.availableBytes).toBeLessThanOrEqual(totalmem() * 1.01);
  expect(memory!.workingSetBytes).toBeLessThanOrEqual(memory!.usageBytes!);
  expect(memory!.rssBytes).toBeLessThanOrEqual(memory!.usageBytes!);
  expect(fs!.inodesUsed! + fs!.inodesFree!).toBe(fs!.inodes);
  expect(fs!.usedBytes! + fs!.availableBytes!).toBeLessThanOrEqual(fs!.capacityBytes!);
  expect(runtime?.containerFs).toEqual(fs);
  expect(new Set([cpu?.time, memory?.time, fs?.time, runtime?.imageFs?.time]).size).toBe(1);
});

test("CPU time is the whole time since boot that was not idle", async () => {
  const usedMs = (): number => cpus().reduce((sum, { times: { user, nice, sys, irq } }) => sum + user + nice + sys + irq, 0);
  const before = usedMs();
  const { cpu, nodeName } = await hostNodeStats({ nodeName: "n", clock: systemClock, directory: tmpdir() })(never);
  const after = usedMs();

  expect(nodeName).toBe("n");
  expect(cpu?.usageCoreNanoSeconds).toBeGreaterThanOrEqual(before * 1e6);
  expect(cpu?.usageCoreNanoSeconds).toBeLessThanOrEqual(after * 1e6);
});

test("the start time is the machine's, and an aborted measurement returns nothing", async () => {
  const measure = hostNodeStats({ nodeName: "n", clock: systemClock, directory: tmpdir() });
  const { startTime } = await measure(never);

  expect(Math.abs(systemClock.now() - uptime() * 1000 - Date.parse(startTime))).toBeLessThan(600_000);
  await expect(measure(AbortSignal.abort(new Error("over")))).rejects.toThrow("over");
});

test("swap, traffic, page faults, processes, pressure and the identity of the machine are measured", async () => {
  const cgroup = { time: "2026-01-01T00:00:00Z", path: "/" };
  const cgroups = { root: async () => cgroup, systemContainers: async () => [{ name: "pods", startTime: cgroup.time, cgroup }] };
  const stats = await hostNodeStats({ nodeName: "n", clock: systemClock, directory: tmpdir(), cgroups })(never);

  expect(stats.swap).toMatchObject({ swapUsageBytes: expect.any(Number), swapAvailableBytes: expect.any(Number) });
  expect(stats.memory?.pageFaults).toBeGreaterThan(0);
  expect(stats.rlimit?.curproc).toBeGreaterThan(0);
  expect(stats.rlimit?.maxpid).toBeGreaterThan(stats.rlimit?.curproc ?? Infinity);
  expect(stats.machine).toMatchObject({ cores: cpus().length, memoryBytes: totalmem() });
  expect(stats.network?.interfaces?.map(({ name }) => name)).not.toContain("lo");
  expect(stats).toMatchObject({ cgroup, systemContainers: [{ name: "pods" }] });
});
