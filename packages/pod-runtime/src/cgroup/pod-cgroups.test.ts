import type { Pod } from "@virtual-kubelet/core";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { FakeCgroups } from "../test-support/fake-cgroups.ts";
import { podWith } from "../test-support/pod-rig.ts";

const { signal } = new AbortController();
const Mi = 2 ** 20;

/** A pod with these limits, whose requests are half of them. */
function podOf(uid: string, cpu: number, mebibytes: number): Pod {
  const resources = { requests: { cpu: `${cpu / 2}m` }, limits: { cpu: `${cpu}m`, memory: `${mebibytes}Mi` } };
  const pod = podWith({ containers: [{ name: "app", image: "app:1", resources }] });
  return { ...pod, metadata: { ...pod.metadata, uid } };
}

const path = "/vkpods/burstable/podu1";
const ref = { namespace: "default", name: "web", uid: "u1" };

describe.for([
  {
    version: 1 as const,
    files: ["cpu.shares", "cpu.cfs_quota_us", "memory.limit_in_bytes"],
    usage: "memory.usage_in_bytes",
    made: ["204", "40000", String(100 * Mi)],
    grown: ["409", "80000", String(100 * Mi)],
    fitted: ["409", "80000", String(50 * Mi)],
    weights: { root: "4096", limited: "2048", burstable: "613", bestEffort: "2" },
  },
  {
    version: 2 as const,
    files: ["cpu.weight", "cpu.max", "memory.max"],
    usage: "memory.current",
    made: ["8", "40000 100000", String(100 * Mi)],
    grown: ["16", "80000 100000", String(100 * Mi)],
    fitted: ["16", "80000 100000", String(50 * Mi)],
    weights: { root: "157", limited: "79", burstable: "23", bestEffort: "1" },
  },
])("on version $version", ({ version, files, usage, made, grown, fitted, weights }) => {
  test("a pod has a cgroup with its limits, which is changed and removed with the pod", async () => {
    await using machine = await FakeCgroups.open(version);
    const pods = machine.pods();
    const held = (): Promise<unknown> => Promise.all(files.map((file) => machine.read(path, file)));

    expect(await pods.prepare(podOf("u1", 400, 100), signal)).toBe(path);
    expect(await held()).toEqual(made);

    const changed = podOf("u1", 800, 50);
    await pods.grow(changed, signal);
    expect(await held()).toEqual(grown);
    await pods.fit(changed, signal);
    expect(await held()).toEqual(fitted);

    await machine.put(`${path}/c1/inner`, "pids.max", "1");
    await pods.release(ref, signal);
    expect(await machine.names("/vkpods/burstable")).toEqual([]);
    await pods.release(ref, signal);
    expect(machine.warnings).toEqual([]);
  });

  test("all pods together get the weight of the machine's CPUs, burstable pods that of their requests, best effort pods the minimum", async () => {
    await using machine = await FakeCgroups.open(version);
    const pods = machine.pods();
    const weight = (at: string): Promise<string | undefined> => machine.read(at, files[0] ?? "");

    await Promise.all([pods.prepare(podOf("u1", 400, 100), signal), pods.prepare(podOf("u2", 800, 100), signal)]);
    await pods.prepare(podWith({}), signal);

    expect([await weight("/vkpods"), await weight("/vkpods/burstable"), await weight("/vkpods/besteffort")]).toEqual([
      weights.root,
      weights.burstable,
      weights.bestEffort,
    ]);
    await pods.release({ ...ref, uid: "u2" }, signal);
    expect(await weight("/vkpods/burstable")).toBe(made[0]);
  });

  test("all pods together can be limited, before and after the first pod, and the pods' own limits stay", async () => {
    await using machine = await FakeCgroups.open(version);
    const pods = machine.pods();
    const [shares = "", , memory = ""] = files;
    const held = async (): Promise<unknown> => [await machine.read("/vkpods", shares), await machine.read("/vkpods", memory)];

    expect(await pods.limit({ cpuShares: 2048, memoryBytes: 500 * Mi, processes: 30_000 }, signal)).toBe(true);
    expect(await machine.read("/vkpods", "pids.max")).toBe("30000");
    await pods.prepare(podOf("u1", 400, 100), signal);
    await pods.prepare({ ...podWith({ containers: [{ name: "app" }] }) }, signal);
    expect(await held()).toEqual([weights.limited, String(500 * Mi)]);

    expect(await machine.pods().limit({ cpuShares: 4096, memoryBytes: 300 * Mi }, signal)).toBe(true);
    expect(await held()).toEqual([weights.root, String(300 * Mi)]);
    expect(await machine.read(path, memory)).toBe(String(100 * Mi));
  });

  test("the parent of the pods' cgroups is not limited if it contains anything else", async () => {
    await using machine = await FakeCgroups.open(version);
    const pods = machine.pods({ prefix: "/shared" });
    await machine.put("/shared/database", "pids.max", "1");

    const limiting = pods.limit({ memoryBytes: 500 * Mi }, signal);

    await expect(limiting).rejects.toThrow(
      'limit what pods use together: cgroup /shared holds "database", which belongs to no pod; set cgroupParent to another cgroup',
    );
    expect(await machine.read("/shared", files[2] ?? "")).toBeUndefined();
  });

  test("the next program finds the cgroup unchanged, and a pod without one stays without", async () => {
    await using machine = await FakeCgroups.open(version);
    await machine.pods().prepare(podOf("u1", 400, 100), signal);
    const next = machine.pods();

    await next.fit(podOf("u1", 800, 50), signal);
    expect(await machine.read(path, files[2] ?? "")).toBe(fitted[2]);
    await next.grow(podOf("u2", 800, 50), signal);
    await next.fit(podOf("u2", 800, 50), signal);
    expect(await machine.names("/vkpods/burstable")).toEqual(["podu1"]);
  });

  test("a memory limit is not set below the memory in use", async () => {
    await using machine = await FakeCgroups.open(version);
    const pods = machine.pods();
    await pods.prepare(podOf("u1", 400, 100), signal);
    await machine.put(path, usage, String(60 * Mi));

    await expect(pods.fit(podOf("u1", 400, 50), signal)).rejects.toThrow(
      `attempting to set pod memory limit (${50 * Mi}) below current usage (${60 * Mi})`,
    );
    expect(await machine.read(path, files[2] ?? "")).toBe(made[2]);
  });

  test("an existing prefix of the administrator keeps its weight", async () => {
    await using machine = await FakeCgroups.open(version);
    await machine.put("/mine/apart", files[0] ?? "", "77");
    expect(await machine.pods({ prefix: "/mine/apart" }).prepare(podOf("u1", 400, 100), signal)).toBe("/mine/apart/burstable/podu1");

    expect(await machine.read("/mine/apart", files[0] ?? "")).toBe("77");
  });

  test("the removal waits for processes that are ending; other processes keep their cgroup until a sweep", async () => {
    await using machine = await FakeCgroups.open(version);
    const pods = machine.pods();
    await pods.prepare(podOf("u1", 400, 100), signal);
    machine.busy.set("podu1", 3);
    await machine.pass(pods.release(ref, signal));
    expect(await machine.names("/vkpods/burstable")).toEqual([]);

    await pods.prepare(podOf("u1", 400, 100), signal);
    machine.busy.set("podu1", Infinity);
    await machine.pass(pods.release(ref, signal));
    expect(await machine.names("/vkpods/burstable")).toEqual(["podu1"]);
    expect(machine.warnings).toEqual(["the cgroup of a pod that is gone could not be removed; will retry"]);
  });

  test("a sweep removes cgroups of pods that were unknown twice in a row, and nothing else", async () => {
    await using machine = await FakeCgroups.open(version);
    const pods = machine.pods();
    for (const uid of ["known", "busy", "gone"]) await pods.prepare(podOf(uid, 400, 100), signal);
    await machine.put("/vkpods/burstable/something", files[0] ?? "", "2");
    machine.busy.set("podbusy", Infinity);
    const sweep = (): Promise<readonly string[]> => pods.sweep((uid) => uid === "known", signal);

    expect(await sweep()).toEqual([]);
    expect(await sweep()).toEqual(["gone"]);
    expect(await machine.names("/vkpods/burstable")).toEqual(["podbusy", "podknown", "something"]);
  });

  test("cgroups that are not the machine's own are not used, which is logged once", async () => {
    await using machine = await FakeCgroups.open(version);
    if (version === 2) await writeFile(join(machine.root, "cgroup.type"), "domain");
    else await rm(join(machine.root, "memory/release_agent"));
    const pods = machine.pods();

    expect([await pods.prepare(podOf("u1", 400, 100), signal), await pods.prepare(podOf("u2", 400, 100), signal)]).toEqual([
      undefined,
      undefined,
    ]);
    await pods.grow(podOf("u1", 400, 100), signal);
    await pods.release(ref, signal);
    expect(await pods.sweep(() => false, signal)).toEqual([]);
    expect(machine.warnings).toHaveLength(1);
    expect(await machine.names("/")).not.toContain("vkpods");
  });
});

test("on version 2 controllers are enabled for child cgroups where they are not enabled yet", async () => {
  await using machine = await FakeCgroups.open(2);
  await machine.pods().prepare(podOf("u1", 400, 100), signal);

  expect(await machine.read("/", "cgroup.subtree_control")).toBe("cpu memory pids");
  expect(await machine.read("/vkpods/burstable", "cgroup.subtree_control")).toBe("+memory");
});

test("if the machine has no controller for processes, the other limits are set", async () => {
  await using first = await FakeCgroups.open(1);
  await rm(join(first.root, "pids"), { recursive: true });
  await using second = await FakeCgroups.open(2);
  await writeFile(join(second.root, "cgroup.controllers"), "cpu memory");

  for (const machine of [first, second]) {
    expect(await machine.pods().limit({ memoryBytes: 500 * Mi, processes: 30_000 }, signal)).toBe(true);
    expect(await machine.read("/vkpods", "pids.max")).toBeUndefined();
  }
  expect(await second.read("/vkpods", "memory.max")).toBe(String(500 * Mi));
});

test("on version 2 the controller for processes is enabled down to the pods' common cgroup only", async () => {
  await using machine = await FakeCgroups.open(2);
  await writeFile(join(machine.root, "cgroup.subtree_control"), "cpu memory");
  await machine.pods({ prefix: "/a/b" }).limit({ processes: 7 }, signal);

  expect(await machine.read("/", "cgroup.subtree_control")).toBe("+pids");
  expect(await machine.read("/a", "cgroup.subtree_control")).toBe("+pids");
  expect(await machine.read("/a/b", "cgroup.subtree_control")).toBeUndefined();
});

test("a failure to create cgroups is logged once", async () => {
  await using machine = await FakeCgroups.open(2);
  await writeFile(join(machine.root, "vkpods"), "");
  expect(await machine.pods().prepare(podOf("u1", 400, 100), signal)).toBeUndefined();
  expect(machine.warnings).toHaveLength(1);
});

test("a limit that the kernel refuses does not prevent the start of a pod", async () => {
  await using machine = await FakeCgroups.open(1);
  await machine.put(`${path}/memory.limit_in_bytes`, "memory.in_the_way", "");

  expect(await machine.pods().prepare(podOf("u1", 400, 100), signal)).toBe(path);
  expect(await machine.read(path, "cpu.cfs_quota_us")).toBe("40000");
  expect(machine.warnings).toEqual(["a pod's cgroup does not have all of the pod's limits"]);
});

test("an engine whose driver is still unknown is asked again", async () => {
  await using machine = await FakeCgroups.open(2);
  const answers = [Promise.reject(new Error("the engine is away")), Promise.resolve("cgroupfs" as const)];
  const pods = machine.pods({ driver: () => answers.shift() ?? Promise.resolve(undefined) });

  await expect(pods.prepare(podOf("u1", 400, 100), signal)).rejects.toThrow("the engine is away");
  expect(await pods.prepare(podOf("u1", 400, 100), signal)).toBe(path);
});

test("with the systemd driver but without systemctl pods have no cgroups, which is logged once", async () => {
  await using machine = await FakeCgroups.open(2);
  const systemctl = (): Promise<never> => Promise.reject(Object.assign(new Error("spawn"), { code: "ENOENT" }));
  const pods = machine.pods({ driver: () => Promise.resolve("systemd"), systemctl });

  expect(await pods.prepare(podOf("u1", 400, 100), signal)).toBeUndefined();
  expect(await pods.prepare(podOf("u1", 400, 100), signal)).toBeUndefined();
  expect(machine.warnings).toHaveLength(1);
});
test("the removal of a pod's cgroup is tried ten times, 50 ms apart", async () => {
  await using machine = await FakeCgroups.open(2);
  let tries = 0;
  const pods = machine.pods({
    removeFolder: () => {
      tries++;
      return Promise.reject(Object.assign(new Error("busy"), { code: "EBUSY" }));
    },
  });
  await pods.prepare(podOf("u1", 400, 100), signal);
  const before = machine.clock.monotonic();

  await machine.pass(pods.release(ref, signal));

  expect(tries).toBe(10);
  expect(machine.clock.monotonic() - before).toBeGreaterThanOrEqual(450);
});

test("after another error than EBUSY the removal is not retried, and each sweep logs the failure", async () => {
  await using machine = await FakeCgroups.open(2);
  let tries = 0;
  const pods = machine.pods({
    removeFolder: () => {
      tries++;
      return Promise.reject(Object.assign(new Error("no"), { code: "EACCES" }));
    },
  });
  await pods.prepare(podOf("u1", 400, 100), signal);
  await pods.release(ref, signal);
  expect([tries, machine.warnings]).toEqual([1, ["the cgroup of a pod that is gone could not be removed; will retry"]]);

  const sweep = (): Promise<readonly string[]> => pods.sweep(() => false, signal);
  expect([await sweep(), await sweep(), await sweep()]).toEqual([[], [], []]);

  expect(machine.warnings.slice(1)).toEqual(Array.from({ length: 2 }, () => "a cgroup could not be removed"));
});

test("growing a pod does not write limits that it already has", async () => {
  await using machine = await FakeCgroups.open(1);
  const pods = machine.pods();
  await pods.prepare(podOf("u1", 400, 100), signal);
  await machine.put(path, "cpu.cfs_period_us", "marker");

  await pods.grow(podOf("u1", 400, 200), signal);

  expect(await machine.read(path, "cpu.cfs_period_us")).toBe("marker");
  expect(await machine.read(path, "memory.limit_in_bytes")).toBe(String(200 * Mi));
});

test("without a driver pods have no cgroups, and nothing is logged", async () => {
  await using machine = await FakeCgroups.open(2);
  const pods = machine.pods({ driver: () => Promise.resolve(undefined) });

  expect(await pods.prepare(podOf("u1", 400, 100), signal)).toBeUndefined();
  expect([await pods.sweep(() => false, signal), machine.warnings, await machine.names("/")]).toEqual([[], [], []]);
});

test("a memory limit can be lowered to the memory in use", async () => {
  await using machine = await FakeCgroups.open(2);
  const pods = machine.pods();
  await pods.prepare(podOf("u1", 400, 100), signal);
  await machine.put(path, "memory.current", String(50 * Mi));

  await pods.fit(podOf("u1", 400, 50), signal);

  expect(await machine.read(path, "memory.max")).toBe(String(50 * Mi));
});

test("if CPU limits are not enforced pods have no quota", async () => {
  await using machine = await FakeCgroups.open(2);
  await machine.pods({ cpuQuota: false }).prepare(podOf("u1", 400, 100), signal);

  expect([await machine.read(path, "cpu.max"), await machine.read(path, "memory.max")]).toEqual([undefined, String(100 * Mi)]);
});

test("the usage of a pod's cgroup is reported; a pod without one has none", async () => {
  await using machine = await FakeCgroups.open(2);
  const pods = machine.pods();
  await pods.prepare(podOf("u1", 400, 100), signal);
  await machine.put(path, "cpu.stat", "usage_usec 7\n");
  await machine.put(path, "memory.current", "4096\n");

  expect(await pods.usage(podOf("u1", 400, 100), signal)).toMatchObject({
    cpu: { usageCoreNanoSeconds: 7000 },
    memory: { usageBytes: 4096, availableBytes: 100 * Mi - 4096 },
    cgroup: { path },
  });
  expect(await pods.usage(podOf("u2", 400, 100), signal)).toBeUndefined();
  await machine.put("/vkpods", "cpu.stat", "usage_usec 9\n");
  await machine.put("/vkpods", "memory.current", "8192\n");
  expect(await pods.totalUsage(signal)).toMatchObject({ cpu: { usageCoreNanoSeconds: 9000 }, cgroup: { path: "/vkpods" } });
  expect(await machine.pods({ driver: async () => undefined }).usage(podOf("u1", 400, 100), signal)).toBeUndefined();
});
