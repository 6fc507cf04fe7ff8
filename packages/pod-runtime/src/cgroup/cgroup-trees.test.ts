import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { FakeCgroups } from "../test-support/fake-cgroups.ts";
import { tempFolder } from "../test-support/temp-folder.ts";
import { foldersIn, makeFolder, removeFolders, tryReadSetting, writeSetting } from "./cgroup-folders.ts";
import { CgroupV1Tree } from "./cgroup-v1-tree.ts";
import { CgroupV2Tree, sharesOf, weightOf } from "./cgroup-v2-tree.ts";
import { cpuQuotaOf, cpuSharesOf, exactBytes } from "./cpu-amounts.ts";
import { openTree } from "./open-tree.ts";
import { slicePropertiesOf, SystemdSlices } from "./systemd-slices.ts";

const name = { path: "/pods/one", parent: "/pods/one" };

describe("cgroups of version 1", () => {
  const open = (machine: FakeCgroups): CgroupV1Tree => new CgroupV1Tree(machine.root, { cpu: "cpu,cpuacct", memory: "memory" });

  test("are created in both hierarchies, once", async () => {
    await using machine = await FakeCgroups.open(1);
    const tree = open(machine);

    expect([await tree.make(name), await tree.make(name)]).toEqual([true, false]);
    expect(await foldersIn(join(machine.root, "memory/pods"))).toEqual(["one"]);
    expect(await foldersIn(join(machine.root, "cpu,cpuacct/pods"))).toEqual(["one"]);
  });

  test("are read as they were written, and limits that are not named keep their values", async () => {
    await using machine = await FakeCgroups.open(1);
    const tree = open(machine);
    await tree.make(name);
    expect(await tree.tryRead(name)).toBeUndefined();
    await tree.write(name, { cpuShares: 204, cpuQuotaMicros: 20_000, cpuPeriodMicros: 50_000, memoryBytes: 4096 });
    expect(await tree.tryRead(name)).toEqual({ cpuShares: 204, cpuQuotaMicros: 20_000, memoryBytes: 4096 });
    expect(await machine.read(name.path, "cpu.cfs_period_us")).toBe("50000");

    await tree.write(name, { memoryBytes: 8192 });

    expect(await tree.tryRead(name)).toEqual({ cpuShares: 204, cpuQuotaMicros: 20_000, memoryBytes: 8192 });
  });

  test("report no limit if there is none", async () => {
    await using machine = await FakeCgroups.open(1);
    await machine.put(name.path, "cpu.shares", "2\n");
    await machine.put(name.path, "cpu.cfs_quota_us", "-1\n");
    await machine.put(name.path, "memory.limit_in_bytes", "9223372036854771712\n");

    expect(await open(machine).tryRead(name)).toEqual({ cpuShares: 2 });
  });

  test("can be read if only the memory hierarchy has them", async () => {
    await using machine = await FakeCgroups.open(1);
    await machine.put(name.path, "memory.limit_in_bytes", "4096");

    expect(await open(machine).tryRead(name)).toEqual({ memoryBytes: 4096 });
  });

  test("report the memory in use, or 0 if it is unknown", async () => {
    await using machine = await FakeCgroups.open(1);
    expect(await open(machine).memoryUsage(name)).toBe(0);
    await machine.put(name.path, "memory.usage_in_bytes", "77\n");

    expect(await open(machine).memoryUsage(name)).toBe(77);
  });

  test("are listed once for all hierarchies, and are removed from all of them", async () => {
    await using machine = await FakeCgroups.open(1);
    for (const hierarchy of ["cpu,cpuacct", "memory", "pids"]) await mkdir(join(machine.root, hierarchy, "pods/one"), { recursive: true });
    await mkdir(join(machine.root, "pids/pods/two"));
    const tree = open(machine);
    expect([...(await tree.children({ path: "/pods", parent: "" }))].sort()).toEqual(["one", "two"]);

    await tree.remove(name);

    expect(await machine.names("/pods")).toEqual(["two"]);
  });
});

describe("cgroups of version 2", () => {
  test("are read as they were written, and limits that are not named keep their values", async () => {
    await using machine = await FakeCgroups.open(2);
    const tree = new CgroupV2Tree(machine.root);
    expect([await tree.make(name), await tree.make(name)]).toEqual([true, false]);
    expect(await tree.tryRead(name)).toBeUndefined();
    await tree.write(name, { cpuShares: 1024, cpuQuotaMicros: 20_000, memoryBytes: 4096 });
    expect(await machine.read(name.path, "cpu.max")).toBe("20000 100000");
    await tree.write(name, { cpuQuotaMicros: 30_000, cpuPeriodMicros: 50_000 });

    expect(await tree.tryRead(name)).toEqual({
      cpuShares: sharesOf(weightOf(1024)),
      cpuQuotaMicros: 30_000,
      cpuPeriodMicros: 50_000,
      memoryBytes: 4096,
    });
  });

  test("report no limit if there is none", async () => {
    await using machine = await FakeCgroups.open(2);
    for (const [file, value] of [
      ["cpu.weight", "1"],
      ["cpu.max", "max 100000"],
      ["memory.max", "max"],
    ] as const)
      await machine.put(name.path, file, `${value}\n`);

    expect(await new CgroupV2Tree(machine.root).tryRead(name)).toEqual({ cpuShares: 2 });
  });

  test("can be read if only one of the files exists", async () => {
    await using machine = await FakeCgroups.open(2);
    await machine.put(name.path, "memory.max", "4096");
    await machine.put("/pods/two", "cpu.weight", "1");
    const tree = new CgroupV2Tree(machine.root);

    expect([await tree.tryRead(name), await tree.tryRead({ path: "/pods/two", parent: "" })]).toEqual([
      { memoryBytes: 4096 },
      { cpuShares: 2 },
    ]);
  });

  test("report the memory in use, or 0 if it is unknown", async () => {
    await using machine = await FakeCgroups.open(2);
    const tree = new CgroupV2Tree(machine.root);
    expect(await tree.memoryUsage(name)).toBe(0);
    await machine.put(name.path, "memory.current", "77\n");

    expect(await tree.memoryUsage(name)).toBe(77);
  });

  test("get only the controllers that they do not have yet", async () => {
    await using machine = await FakeCgroups.open(2);
    await machine.put("/pods", "cgroup.subtree_control", "memory");

    await new CgroupV2Tree(machine.root).make(name);

    expect(await machine.read("/pods", "cgroup.subtree_control")).toBe("+cpu");
    expect(await machine.read("/", "cgroup.subtree_control")).toBe("cpu memory pids");
  });
});

test.for([
  [0, 1],
  [2, 1],
  [28, 1],
  [29, 2],
  [1_024, 39],
  [262_143, 9_999],
  [262_144, 10_000],
  [500_000, 10_000],
] as const)("%d shares have the weight %d, and so does the minimum of shares for that weight", ([shares, weight]) => {
  expect(weightOf(shares)).toBe(weight);
  expect(weightOf(sharesOf(weight))).toBe(weight);
  if (weight > 1) expect(weightOf(sharesOf(weight) - 1)).toBe(weight - 1);
});

test("CPU amounts become shares and quotas within the kernel's limits", () => {
  expect([0n, 1n, 2n, 1_000n, 256_000n, 300_000n].map(cpuSharesOf)).toEqual([2, 2, 2, 1_024, 262_144, 262_144]);
  expect([0n, 9n, 10n, 11n, 1_500n].map((milli) => cpuQuotaOf(milli).cpuQuotaMicros)).toEqual([1_000, 1_000, 1_000, 1_100, 150_000]);
  expect(cpuQuotaOf(1n).cpuPeriodMicros).toBe(100_000);
  expect([exactBytes(-1n), exactBytes(5n), exactBytes(2n ** 60n)]).toEqual([0, 5, Number.MAX_SAFE_INTEGER]);
});

describe("folders of cgroups", () => {
  test("are listed without files; a missing folder has none", async () => {
    await using folder = await tempFolder();
    await mkdir(join(folder.path, "a"));
    await writeFile(join(folder.path, "file"), "");

    expect([await foldersIn(folder.path), await foldersIn(join(folder.path, "none"))]).toEqual([["a"], []]);
    await expect(foldersIn(join(folder.path, "file"))).rejects.toMatchObject({ code: "ENOTDIR" });
  });

  test("are removed with their child folders, innermost first; a second removal does nothing", async () => {
    await using folder = await tempFolder();
    const path = join(folder.path, "a");
    await makeFolder(join(path, "b/c"));
    await removeFolders(path);
    await removeFolders(path);

    expect(await foldersIn(folder.path)).toEqual([]);
    await mkdir(path);
    await writeFile(join(path, "busy"), "");
    await expect(removeFolders(path)).rejects.toMatchObject({ code: "ENOTEMPTY" });
  });

  test("have files that are read without whitespace; the error of a failed write contains the file, the value and its code", async () => {
    await using folder = await tempFolder();
    await writeSetting(folder.path, "memory.max", "max\n");

    expect([await tryReadSetting(folder.path, "memory.max"), await tryReadSetting(folder.path, "none")]).toEqual(["max", undefined]);
    await expect(writeSetting(join(folder.path, "none"), "memory.max", "7")).rejects.toMatchObject({
      code: "ENOENT",
      message: expect.stringContaining(`write 7 to ${join(folder.path, "none/memory.max")}: `),
    });
    await mkdir(join(folder.path, "folder"));
    await expect(tryReadSetting(folder.path, "folder")).rejects.toMatchObject({ code: "EISDIR" });
  });
});

describe("openTree", () => {
  test("explains if there are no cgroups, or only those of a container", async () => {
    await using folder = await tempFolder();
    expect(await openTree({ root: folder.path, driver: "cgroupfs" })).toEqual({
      problem: `there are no cgroups for CPU and memory at ${folder.path}`,
    });
    await mkdir(join(folder.path, "cpu/pods"), { recursive: true });
    expect(await openTree({ root: folder.path, driver: "cgroupfs" })).toMatchObject({
      problem: expect.stringContaining("there are no cgroups"),
    });
    await mkdir(join(folder.path, "memory/pods"), { recursive: true });
    expect(await openTree({ root: folder.path, driver: "cgroupfs" })).toEqual({
      problem: `the cgroups at ${folder.path} are not the machine's: this program has some of its own`,
    });
    for (const hierarchy of ["cpu", "memory"]) await writeFile(join(folder.path, hierarchy, "release_agent"), "");
    expect(await openTree({ root: folder.path, driver: "cgroupfs" })).toMatchObject({ tree: expect.any(CgroupV1Tree) });
  });

  test("uses version 2 if it is mounted, and systemd's slices if that is the driver", async () => {
    await using machine = await FakeCgroups.open(2);
    const { root } = machine;
    const systemctl = async (): Promise<{ exitCode: number; stdout: string; stderr: string }> => ({ exitCode: 0, stdout: "", stderr: "" });

    expect(await openTree({ root, driver: "cgroupfs" })).toMatchObject({ tree: expect.any(CgroupV2Tree) });
    expect(await openTree({ root, driver: "systemd", systemctl })).toMatchObject({ tree: expect.any(SystemdSlices) });
  });

  test("explains why systemd does not answer", async () => {
    await using machine = await FakeCgroups.open(2);
    const answer = { exitCode: 1, stdout: "", stderr: "  no bus\n" };

    expect(await openTree({ root: machine.root, driver: "systemd", systemctl: async () => answer })).toEqual({
      problem: "systemctl show --property=Version: exit code 1: no bus",
    });
    const missing = (): Promise<never> => Promise.reject(Object.assign(new Error("spawn"), { code: "ENOENT" }));
    expect(await openTree({ root: machine.root, driver: "systemd", systemctl: missing })).toEqual({
      problem: "systemctl show --property=Version: there is no such program here: spawn",
    });
    const odd = (): Promise<never> => Promise.reject(new Error("out of memory"));
    expect(await openTree({ root: machine.root, driver: "systemd", systemctl: odd })).toEqual({ problem: "out of memory" });
  });
});

describe("slices", () => {
  test("have properties for the limits, depending on the version of the cgroups", () => {
    const limits = { cpuShares: 1_024, cpuQuotaMicros: 45_500, cpuPeriodMicros: 100_000, memoryBytes: 4096 };

    expect(slicePropertiesOf(limits, 1)).toEqual(["CPUShares=1024", "CPUQuota=46%", "MemoryLimit=4096"]);
    expect(slicePropertiesOf(limits, 2)).toEqual(["CPUWeight=39", "CPUQuota=46%", "MemoryMax=4096"]);
    expect(slicePropertiesOf({ cpuQuotaMicros: 50_000, cpuPeriodMicros: 50_000 }, 2)).toEqual(["CPUQuota=100%"]);
    expect(slicePropertiesOf({ cpuQuotaMicros: 200_000 }, 2)).toEqual(["CPUQuota=200%"]);
    expect(slicePropertiesOf({ processes: 30_000 }, 1)).toEqual(["TasksMax=30000"]);
    expect(slicePropertiesOf({ processes: 30_000 }, 2)).toEqual(["TasksMax=30000"]);
    expect(slicePropertiesOf({}, 2)).toEqual([]);
  });

  test("are new if their cgroup does not exist, are written only if necessary, and are read from files", async () => {
    await using machine = await FakeCgroups.open(2);
    const said: string[] = [];
    const systemctl = async (args: readonly string[]): Promise<{ exitCode: number; stdout: string; stderr: string }> => {
      said.push(args.join(" "));
      return { exitCode: 0, stdout: "", stderr: "" };
    };
    const slices = new SystemdSlices({ files: new CgroupV2Tree(machine.root), version: 2, systemctl });
    const slice = { path: "/a.slice", parent: "a.slice" };
    expect(await slices.make(slice)).toBe(true);
    await machine.put(slice.path, "memory.max", "4096");
    await machine.put(slice.path, "memory.current", "7");

    await slices.write(slice, {});
    expect([await slices.make(slice), said]).toEqual([false, []]);
    expect([await slices.tryRead(slice), await slices.memoryUsage(slice), await slices.children(slice)]).toEqual([
      { memoryBytes: 4096 },
      7,
      [],
    ]);
    await slices.remove(slice);

    expect(said).toEqual(["start a.slice", "stop a.slice", "revert a.slice"]);
  });

  test("are not removed while they contain anything", async () => {
    await using machine = await FakeCgroups.open(2);
    await machine.put("/a.slice/inner", "memory.max", "max");
    const slices = new SystemdSlices({
      files: new CgroupV2Tree(machine.root),
      version: 2,
      systemctl: () => Promise.reject(new Error("not asked for")),
    });

    await expect(slices.remove({ path: "/a.slice", parent: "a.slice" })).rejects.toMatchObject({
      code: "EBUSY",
      message: "stop slice a.slice: there is something in it",
    });
  });
});
