import { VirtualClock } from "@virtual-kubelet/clock";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../test-support/temp-folder.ts";
import { CgroupMeter } from "./cgroup-meter.ts";

const time = "2026-01-01T00:00:00.000Z";
const pressure = `some avg10=5.61 avg60=1.01 avg300=0.21 total=1242846
full avg10=4.61 avg60=0.50 avg300=0.11 total=1238660
`;
const psi = {
  full: { total: 1_238_660, avg10: 4.61, avg60: 0.5, avg300: 0.11 },
  some: { total: 1_242_846, avg10: 5.61, avg60: 1.01, avg300: 0.21 },
};

/** As Linux 6.18 shows a container of Docker 20.10 in version 1, with version 2 mounted beside it. */
const v1 = {
  "memory/pod/c1/memory.stat": `cache 8388608
rss 61440
mapped_file 3
pgfault 1339
inactive_file 8388608
total_cache 8388608
total_rss 61440
total_mapped_file 4096
total_swap 1000
total_pgfault 1339
total_pgmajfault 2
total_inactive_file 8380000
total_active_file 8608
`,
  "memory/pod/c1/memory.usage_in_bytes": "8962048\n",
  "memory/pod/c1/memory.max_usage_in_bytes": "9000000\n",
  "memory/pod/c1/memory.limit_in_bytes": "67108864\n",
  "memory/pod/c1/memory.memsw.limit_in_bytes": "134217728\n",
  "memory/pod/c1/memory.soft_limit_in_bytes": "9223372036854771712\n",
  "memory/pod/c1/memory.kmem.usage_in_bytes": "507904\n",
  "memory/pod/c1/memory.failcnt": "4\n",
  "memory/pod/c1/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
  "cpu/pod/c1/cpu.stat": "nr_periods 31\nnr_throttled 30\nthrottled_time 1321435170\n",
  "cpu/pod/c1/cpu.shares": "512\n",
  "cpu/pod/c1/cpu.cfs_quota_us": "50000\n",
  "cpu/pod/c1/cpu.cfs_period_us": "100000\n",
  "cpu/pod/c1/cgroup.procs": "20\n21\n",
  "cpuacct/pod/c1/cpuacct.stat": "user 155\nsystem 1\n",
  "cpuacct/pod/c1/cpuacct.usage": "1561900261\n",
  "pids/pod/c1/pids.current": "3\n",
  "pids/pod/c1/pids.max": "max\n",
  "blkio/pod/c1/blkio.throttle.io_service_bytes_recursive": "999:0 Read 4096\n999:0 Write 0\n999:0 Total 4096\nTotal 4096\n",
  "blkio/pod/c1/blkio.throttle.io_serviced_recursive": "999:0 Read 1\n999:0 Write 0\n999:0 Total 1\nTotal 1\n",
  "unified/pod/c1/cpu.pressure": pressure,
};
const v1Process = ["8:pids:/pod/c1", "7:blkio:/pod/c1", "4:memory:/pod/c1", "2:cpuacct:/pod/c1", "1:cpu:/pod/c1", "0::/pod/c1"];

const v2 = {
  "cgroup.controllers": "cpu io memory pids\n",
  "pod/c1/memory.stat": `anon 61440
file 8388608
kernel 507904
file_mapped 4096
inactive_file 8380000
active_file 8608
pgfault 1339
pgmajfault 2
`,
  "pod/c1/memory.current": "8962048\n",
  "pod/c1/memory.peak": "9000000\n",
  "pod/c1/memory.max": "67108864\n",
  "pod/c1/memory.min": "0\n",
  "pod/c1/memory.swap.current": "1000\n",
  "pod/c1/memory.swap.max": "67108864\n",
  "pod/c1/memory.events": "low 0\nhigh 0\nmax 4\noom 1\noom_kill 1\n",
  "pod/c1/memory.pressure": pressure,
  "pod/c1/cpu.stat": "usage_usec 1561900\nuser_usec 1550000\nsystem_usec 11900\nnr_periods 31\nnr_throttled 30\nthrottled_usec 1321435\n",
  "pod/c1/cpu.weight": "20\n",
  "pod/c1/cpu.max": "50000 100000\n",
  "pod/c1/cpu.pressure": pressure,
  "pod/c1/pids.current": "3\n",
  "pod/c1/pids.max": "100\n",
  "pod/c1/cgroup.procs": "20\n21\n",
  "pod/c1/io.stat": "999:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0\n",
  "pod/c1/io.pressure": pressure,
};

interface Machine extends AsyncDisposable {
  readonly root: string;
  readonly meter: CgroupMeter;
}

async function machine(files: Readonly<Record<string, string>>, process: readonly string[], net?: string): Promise<Machine> {
  const folder = await tempFolder();
  const proc = { "proc/20/cgroup": `${process.join("\n")}\n`, ...(net !== undefined && { "proc/20/net/dev": net }) };
  const all = Object.entries({ ...proc, ...Object.fromEntries(Object.entries(files).map(([path, text]) => [`cgroup/${path}`, text])) });
  for (const [path, text] of all) {
    await mkdir(dirname(join(folder.path, path)), { recursive: true });
    await writeFile(join(folder.path, path), text);
  }
  const meter = new CgroupMeter({ clock: new VirtualClock(), root: join(folder.path, "cgroup"), proc: join(folder.path, "proc") });
  return { meter, root: join(folder.path, "cgroup"), [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

/** Memory figures of the same container, the same in both versions. */
const memory = {
  time,
  availableBytes: 67_108_864 - (8_962_048 - 8_380_000),
  usageBytes: 8_962_048,
  workingSetBytes: 8_962_048 - 8_380_000,
  rssBytes: 61_440,
  pageFaults: 1339,
  majorPageFaults: 2,
};
const swap = { time, swapAvailableBytes: 67_107_864, swapUsageBytes: 1000 };
const cgroup = {
  time,
  path: "/pod/c1",
  cpuPeriods: 31,
  cpuThrottledPeriods: 30,
  memoryCacheBytes: 8_388_608,
  memoryMappedFileBytes: 4096,
  memoryKernelBytes: 507_904,
  memoryMaxUsageBytes: 9_000_000,
  memoryActiveFileBytes: 8608,
  memoryInactiveFileBytes: 8_380_000,
  memoryLimitHits: 4,
  oomKills: 1,
  processes: 2,
  threads: 3,
  disks: [{ device: "999:0", readBytes: 4096, writtenBytes: 0, reads: 1, writes: 0 }],
  cpuPeriodMicros: 100_000,
  cpuQuotaMicros: 50_000,
  memoryLimitBytes: 67_108_864,
};

test("a version 1 control group is read from all hierarchies, and its pressure from version 2", async () => {
  await using rig = await machine(v1, v1Process);

  expect(await rig.meter.ofProcess({ pid: 20, id: "c1" })).toEqual({
    cpu: { time, usageCoreNanoSeconds: 1_561_900_261, psi },
    memory,
    swap,
    cgroup: {
      ...cgroup,
      cpuUserNanoSeconds: 1_550_000_000,
      cpuSystemNanoSeconds: 10_000_000,
      cpuThrottledNanoSeconds: 1_321_435_170,
      cpuShares: 512,
      memorySwapLimitBytes: 134_217_728,
    },
  });
});

test("a mount point without a mount is not taken for a hierarchy", async () => {
  await using rig = await machine(v1, v1Process);
  await mkdir(join(rig.root, "cpu,cpuacct"));

  expect(await rig.meter.ofProcess({ pid: 20, id: "c1" })).toMatchObject({ cpu: { usageCoreNanoSeconds: 1_561_900_261 } });
});

test("a version 2 control group is read from its one folder", async () => {
  await using rig = await machine(v2, ["0::/pod/c1"]);

  const expected = {
    cpu: { time, usageCoreNanoSeconds: 1_561_900_000, psi },
    memory: { ...memory, psi },
    swap,
    io: { time, psi },
    cgroup: {
      ...cgroup,
      cpuUserNanoSeconds: 1_550_000_000,
      cpuSystemNanoSeconds: 11_900_000,
      cpuThrottledNanoSeconds: 1_321_435_000,
      cpuShares: 500,
      memorySwapLimitBytes: 67_108_864,
      memoryReservationBytes: 0,
      maxThreads: 100,
    },
  };
  expect(await rig.meter.ofProcess({ pid: 20, id: "c1" })).toEqual(expected);
  expect(await rig.meter.ofPath("/pod/c1")).toEqual(expected);
});

test("without a limit no limit is shown, and figures that the kernel does not report are left out", async () => {
  await using rig = await machine(
    {
      "cgroup.controllers": "cpu memory\n",
      "pod/memory.current": "10\n",
      "pod/memory.max": "max\n",
      "pod/cpu.stat": "usage_usec 2\n",
      "pod/cpu.max": "max 100000\n",
    },
    [],
  );

  const usage = await rig.meter.ofPath("/pod");
  expect(usage?.memory).toEqual({ time, usageBytes: 10, workingSetBytes: 10 });
  expect(usage?.swap).toBeUndefined();
  expect(usage?.io).toBeUndefined();
  expect(usage?.cgroup).toEqual({ time, path: "/pod", cpuPeriodMicros: 100_000 });
});

test("a missing group, a process that has ended, and a process of another container have no figures", async () => {
  await using rig = await machine(v2, ["0::/pod/c1"]);
  await using bare = await machine({}, ["0::/pod/c1"]);

  expect(await rig.meter.ofPath("/pod/c2")).toBeUndefined();
  expect(await rig.meter.ofProcess({ pid: 21, id: "c1" })).toBeUndefined();
  expect(await rig.meter.ofProcess({ pid: 20, id: "c2" })).toBeUndefined();
  expect(await rig.meter.ofProcess({ pid: 0, id: "c1" })).toBeUndefined();
  expect(await bare.meter.ofProcess({ pid: 20, id: "c1" })).toBeUndefined();
});

const head = "Inter-|   Receive |  Transmit\n face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop\n";

test("traffic is that of the network's interfaces except loopback, with the main one first", async () => {
  const net = `${head}    lo: 9 9 0 0 0 0 0 0 9 9 0 0 0 0 0 0
  net1: 1 2 3 4 0 0 0 0 5 6 7 8 0 0 0 0
  eth0: 10 20 30 40 0 0 0 0 50 60 70 80 0 0 0 0
`;
  await using rig = await machine(v2, ["0::/pod/c1"], net);
  const eth0 = { rxBytes: 10, rxPackets: 20, rxErrors: 30, rxDropped: 40, txBytes: 50, txPackets: 60, txErrors: 70, txDropped: 80 };

  const network = await rig.meter.networkOf({ pid: 20, id: "c1" });

  expect(network).toMatchObject({ time, name: "eth0", ...eth0 });
  expect(network?.interfaces?.map(({ name }) => name)).toEqual(["net1", "eth0"]);
  expect(await rig.meter.networkOf({ pid: 20, id: "c2" })).toBeUndefined();
});

test("a network with only loopback has no traffic", async () => {
  await using rig = await machine(v2, ["0::/pod/c1"], `${head}    lo: 9 9 0 0 0 0 0 0 9 9 0 0 0 0 0 0\n`);

  expect(await rig.meter.networkOf({ pid: 20, id: "c1" })).toBeUndefined();
});
