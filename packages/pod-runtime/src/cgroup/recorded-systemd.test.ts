import type { Pod } from "@virtual-kubelet/core";
import { describe, expect, test } from "vitest";
import { FakeCgroups } from "../test-support/fake-cgroups.ts";
import { podWith } from "../test-support/pod-rig.ts";
import { RecordedSystemd, recordedAnswers, recordedSystemd, type RecordedAnswer } from "../test-support/recorded-systemd.ts";
import { CgroupNames } from "./cgroup-names.ts";
import { CgroupV2Tree } from "./cgroup-v2-tree.ts";
import { cpuQuotaOf, maxShares, minShares } from "./cpu-amounts.ts";
import { openTree } from "./open-tree.ts";
import type { PodCgroups } from "./pod-cgroups.ts";
import { slicePropertiesOf, SystemdSlices } from "./systemd-slices.ts";

const { signal } = new AbortController();
const Mi = 2 ** 20;
const slice = "vkpods-burstable-podu1.slice";
const tier = "/vkpods.slice/vkpods-burstable.slice";
const ref = { namespace: "default", name: "web", uid: "u1" };
const versions = [1, 2] as const;

/** A pod with these limits, whose requests are half of them. */
function podOf(cpu: number, mebibytes: number): Pod {
  const resources = { requests: { cpu: `${cpu / 2}m` }, limits: { cpu: `${cpu}m`, memory: `${mebibytes}Mi` } };
  const pod = podWith({ containers: [{ name: "app", image: "app:1", resources }] });
  return { ...pod, metadata: { ...pod.metadata, uid: "u1" } };
}

/** Cgroups on a machine whose systemd answers as recorded in a scenario. */
async function replay(scenario: string, machine: FakeCgroups): Promise<{ systemd: RecordedSystemd; pods: PodCgroups }> {
  const systemd = new RecordedSystemd(scenario, machine);
  await systemd.step("@boot");
  const { systemctl } = systemd;
  return { systemd, pods: machine.pods({ driver: () => Promise.resolve("systemd"), systemctl }) };
}

/** Recorded answer to a command of a scenario. */
function answerTo(scenario: string, ...command: readonly string[]): RecordedAnswer {
  const found = recordedAnswers(scenario).find((answer) => answer.command.join(" ") === command.join(" "));
  if (!found) throw new Error(`${command.join(" ")} is not recorded in "${scenario}"`);
  return found;
}

test("the recording contains the version of systemd", () => {
  expect(recordedSystemd.systemd).toMatch(/^252\./);
  expect(answerTo("unknown", "show", "--property=Version").stdout).toBe(`Version=${recordedSystemd.systemd}\n`);
});

describe.for(versions)("on cgroups of version %d", (version) => {
  test("a pod's slice gets its limits, is changed and removed with the pod, even if it never had a container", async () => {
    await using machine = await FakeCgroups.open(version);
    const { systemd, pods } = await replay(`a pod on version ${version}`, machine);

    expect(await pods.prepare(podOf(455, 100), signal)).toBe(slice);
    expect([machine.warnings, await machine.names(tier)]).toEqual([[], [slice]]);
    await pods.grow(podOf(800, 50), signal);
    await pods.fit(podOf(800, 50), signal);
    await pods.release(ref, signal);

    expect([systemd.rest, machine.warnings, await machine.names(tier)]).toEqual([[], [], []]);
  });

  test("all pods together are limited", async () => {
    await using machine = await FakeCgroups.open(version);
    const { systemd, pods } = await replay(version === 1 ? "all pods together on version 1" : "all pods together", machine);

    expect(await pods.limit({ cpuShares: 2048, memoryBytes: 500 * Mi, processes: 30_000 }, signal)).toBe(true);

    expect(systemd.rest).toEqual([]);
  });
});

test("a slice with a process is not removed until the process has ended", async () => {
  await using machine = await FakeCgroups.open(2);
  const { systemd, pods } = await replay("a pod with a process", machine);
  await pods.prepare(podOf(455, 100), signal);
  await systemd.step("@process");
  await machine.pass(pods.release(ref, signal));
  expect(machine.warnings).toEqual(["the cgroup of a pod that is gone could not be removed; will retry"]);
  await systemd.step("@end");

  await pods.release(ref, signal);

  expect([systemd.rest, machine.warnings.length, await machine.names(tier)]).toEqual([[], 1, []]);
});

test("a slice that systemd does not know is removed without an error", async () => {
  await using machine = await FakeCgroups.open(2);
  const systemd = new RecordedSystemd("unknown", machine);
  await systemd.step("@boot");
  const slices = new SystemdSlices({ files: new CgroupV2Tree(machine.root), version: 2, systemctl: systemd.systemctl });
  await slices.check();

  await slices.remove({ path: `${tier}/${slice}`, parent: slice });

  expect([systemd.rest, await machine.names(tier)]).toEqual([[], []]);
});

test("a machine without systemd is reported in systemctl's words", async () => {
  await using machine = await FakeCgroups.open(2);
  const { systemctl } = new RecordedSystemd("not booted", machine);

  expect(await openTree({ root: machine.root, driver: "systemd", systemctl })).toEqual({
    problem:
      "systemctl show --property=Version: exit code 1: System has not been booted with systemd as init system (PID 1). Can't operate.\n" +
      "Failed to connect to bus: Host is down",
  });
});

describe("behavior of systemd that the driver relies on", () => {
  const folder = `${tier}/${slice}`;

  test("each property that systemd accepts is set on the slice, and the others stay", () => {
    const shown = (property: string): [string, string] => {
      const [name = "", value = ""] = property.split("=");
      return name === "CPUQuota" ? ["CPUQuotaPerSecUSec", spanOf(value)] : [name, value];
    };
    let compared = 0;
    for (const [scenario, answers] of Object.entries(recordedSystemd.answers)) {
      const held = new Map<string, Record<string, string>>();
      for (const answer of answers) {
        const [verb, , name = "", ...properties] = answer.command;
        if (verb === "revert") held.clear();
        if (verb !== "set-property" || !answer.shown) continue;
        if (answer.exitCode === 0) held.set(name, { ...held.get(name), ...Object.fromEntries(properties.map(shown)) });
        expect(answer.shown, `${scenario}: ${answer.command.join(" ")}`).toMatchObject(held.get(name) ?? {});
        compared++;
      }
    }
    expect(compared).toBeGreaterThan(40);
  });

  test("limits that are set before a slice is started apply when it starts, even after systemd was reloaded", () => {
    expect(answerTo("reloaded", "set-property", "--runtime", slice, "MemoryMax=4096").shown).toMatchObject({ ActiveState: "inactive" });
    expect(answerTo("reloaded", "start", slice).shown).toMatchObject({ ActiveState: "active", MemoryMax: "4096" });
  });

  test("stopping a slice that was not started leaves its cgroup", () => {
    expect(answerTo("stopped without being started", "stop", slice)).toMatchObject({
      exitCode: 0,
      cgroups: expect.arrayContaining([folder]),
    });
    expect(answerTo("stopped without being started", "revert", slice).cgroups).toContain(folder);
  });

  test("stopping a slice ends the processes in it", () => {
    expect(answerTo("stopped with a process", "@process", slice).cgroups).toContain(`${folder}/process.scope`);
    expect(answerTo("stopped with a process", "stop", slice)).toMatchObject({ exitCode: 0, cgroups: ["/vkpods.slice", tier] });
  });

  test("reverting a slice removes all limits", () => {
    expect(answerTo("a pod on version 2", "revert", slice).shown).toMatchObject({
      CPUWeight: "[not set]",
      CPUQuotaPerSecUSec: "infinity",
      MemoryMax: "infinity",
    });
  });
});

describe("values", () => {
  const code = (property: string): number => answerTo("values", "set-property", "--runtime", slice, property).exitCode;

  test.for([
    [1, { cpuShares: minShares }],
    [1, { cpuShares: maxShares }],
    [1, { memoryBytes: 0 }],
    [2, { cpuShares: minShares }],
    [2, { cpuShares: maxShares }],
    [2, { memoryBytes: 0 }],
    [2, { memoryBytes: Number.MAX_SAFE_INTEGER }],
    [2, { processes: 0 }],
    [2, cpuQuotaOf(1n)],
    [2, cpuQuotaOf(256_000n)],
  ] as const)("on version %d systemd accepts the limits of %j", ([version, limits]) => {
    const properties = slicePropertiesOf(limits, version);

    expect(properties.map(code)).toEqual([0]);
  });

  test.for([
    ["CPUShares=1", "Failed to parse CPUShares=1: Numerical result out of range"],
    ["CPUShares=262145", "Failed to parse CPUShares=262145: Numerical result out of range"],
    ["CPUWeight=0", "Failed to parse CPUWeight=0: Numerical result out of range"],
    ["CPUWeight=10001", "Failed to parse CPUWeight=10001: Numerical result out of range"],
    ["CPUQuota=0%", "CPU quota too small."],
    ["MemoryLimit=0", `Failed to set unit properties on ${slice}: Value specified in MemoryLimit is out of range`],
    ["MemoryMax=0", `Failed to set unit properties on ${slice}: Value specified in MemoryMax is out of range`],
    ["TasksMax=0", `Failed to set unit properties on ${slice}: Value specified in TasksMax is out of range`],
    ["Nonsense=1", "Unknown assignment: Nonsense=1"],
  ] as const)("systemd refuses %s", ([property, reason]) => {
    expect(answerTo("values", "set-property", "--runtime", slice, property)).toMatchObject({ exitCode: 1, stderr: `${reason}\n` });
  });

  test("if systemd refuses one value, the other properties of the command are not set", () => {
    const refused = answerTo("values", "set-property", "--runtime", slice, "CPUWeight=7", "MemoryMax=0");

    expect([refused.exitCode, refused.shown?.["CPUWeight"]]).toEqual([1, "10000"]);
  });
});

describe("names", () => {
  test.for(["a:b.slice", "a_b.slice", "a.b-c.slice"])("%s is a valid slice for the driver and for systemd", (name) => {
    const { path, parent } = new CgroupNames("systemd", name).root;

    expect([parent, answerTo("names", "set-property", "--runtime", name, "CPUWeight=7")]).toMatchObject([
      name,
      { exitCode: 0, cgroups: expect.arrayContaining([path]) },
    ]);
  });

  test.for(["a--b.slice", "a@.slice", "a@b.slice"])("%s is an invalid slice for the driver and for systemd", (name) => {
    expect(answerTo("names", "set-property", "--runtime", name, "CPUWeight=7").exitCode).toBe(1);
    expect(() => new CgroupNames("systemd", name)).toThrow(/^name (cgroups|slices) below "/);
  });

  test("an error contains systemctl's words", async () => {
    await using machine = await FakeCgroups.open(2);
    const { exitCode, stdout, stderr } = answerTo("names", "set-property", "--runtime", "a@b.slice", "CPUWeight=7");
    const systemctl = async (): Promise<{ exitCode: number; stdout: string; stderr: string }> => ({ exitCode, stdout, stderr });
    const slices = new SystemdSlices({ files: new CgroupV2Tree(machine.root), version: 2, systemctl });

    await expect(slices.write({ path: "/a@b.slice", parent: "a@b.slice" }, { cpuShares: 180 })).rejects.toThrow(
      "systemctl set-property --runtime a@b.slice CPUWeight=7: exit code 1: Failed to set unit properties on a@b.slice: Invalid argument",
    );
  });
});

/** A percentage of a second as systemd prints it. */
function spanOf(percent: string): string {
  const milliseconds = Number(percent.slice(0, -1)) * 10;
  const [minutes, seconds] = [Math.floor(milliseconds / 60_000), Math.floor((milliseconds % 60_000) / 1_000)];
  const parts = [minutes && `${minutes}min`, seconds && `${seconds}s`, milliseconds % 1_000 && `${milliseconds % 1_000}ms`];
  return parts.filter((part) => part !== 0).join(" ");
}
