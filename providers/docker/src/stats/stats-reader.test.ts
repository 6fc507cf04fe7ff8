import { systemClock } from "@virtual-kubelet/clock";
import { isNotFound } from "@virtual-kubelet/errdefs";
import { CgroupMeter } from "@virtual-kubelet/pod-runtime";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { EngineInventory } from "../inventory/engine-inventory.ts";
import { startFakeEngine, type FakeEngine, type FakeEngineRoutes } from "../test-support/fake-engine-server.ts";
import { tempFolder } from "../test-support/temp-folder.ts";
import { StatsReader } from "./stats-reader.ts";

const { signal: never } = new AbortController();
const startedAt = "2026-11-21T07:20:44Z";
const stats = {
  read: "2026-11-21T08:00:00Z",
  cpu_stats: { cpu_usage: { total_usage: 5_000 } },
  memory_stats: { usage: 4096, limit: 1 << 30, stats: {} },
  networks: { eth0: { rx_bytes: 7, rx_errors: 0, tx_bytes: 8, tx_errors: 0 } },
};

/** Containers `c1`, `c2`, … whose processes have the pids 1, 2, … */
function answersFor(
  ids: readonly string[],
  { isRunning = () => true }: { readonly isRunning?: () => boolean } = {},
): FakeEngineRoutes["answers"] {
  const inspected = (id: string): object => ({
    Id: id,
    State: { Running: isRunning(), Pid: isRunning() ? Number(id.slice(1)) : 0, StartedAt: startedAt },
    Config: { Labels: { "io.kubernetes.container.name": id } },
    HostConfig: { NetworkMode: "bridge" },
    LogPath: "",
  });
  return {
    "GET /info": () => ({ status: 200, json: { MemTotal: 2 ** 40 } }),
    "GET /containers/json": () => ({ status: 200, json: ids.map((id) => ({ Id: id, SizeRw: 77 })) }),
    ...Object.fromEntries(
      ids.flatMap((id) => [
        [`GET /containers/${id}/json`, () => ({ status: 200, json: inspected(id) })],
        [`GET /containers/${id}/stats`, () => ({ status: 200, json: isRunning() ? stats : { ...stats, read: "0001-01-01T00:00:00Z" } })],
      ]),
    ),
  };
}

/** A machine with control groups of version 2, where each of the processes runs in a group that has its container's id. */
async function machineOf(ids: readonly string[], folder: string): Promise<CgroupMeter> {
  const write = async (path: string, text: string): Promise<void> => {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  };
  await write("cgroup/cgroup.controllers", "cpu memory\n");
  for (const id of ids) {
    const pid = id.slice(1);
    await write(`proc/${pid}/cgroup`, `0::/vkpods/podu1/${id}\n`);
    await write(`proc/${pid}/net/dev`, "Inter-| Receive\n face |bytes\n  eth0: 100 1 0 0 0 0 0 0 200 2 0 0 0 0 0 0\n");
    await write(`cgroup/vkpods/podu1/${id}/cpu.stat`, "usage_usec 9\nuser_usec 5\nsystem_usec 4\n");
    await write(`cgroup/vkpods/podu1/${id}/memory.current`, "8192\n");
    await write(`cgroup/vkpods/podu1/${id}/memory.stat`, "anon 4096\ninactive_file 2048\n");
  }
  return new CgroupMeter({ clock: systemClock, root: join(folder, "cgroup"), proc: join(folder, "proc") });
}

/** How often each kind of call was made. */
function callsOf({ requests }: FakeEngine): Readonly<Record<string, number>> {
  const calls: Record<string, number> = {};
  for (const { path } of requests) {
    const kind = path.replace(/\/c\d+\//, "/ID/");
    calls[kind] = (calls[kind] ?? 0) + 1;
  }
  return calls;
}

test("110 pods are measured from control groups; the engine is asked once for each container's process, and then no more", async () => {
  await using folder = await tempFolder();
  const ids = Array.from({ length: 220 }, (_, index) => `c${index + 1}`);
  await using fake = await startFakeEngine({ answers: answersFor(ids) });
  await using reader = new StatsReader({ engine: fake.engine, meter: await machineOf(ids, folder.path) });
  const measure = async (): Promise<void> => {
    await Promise.all(ids.slice(0, 110).map((id) => reader.container(id, never)));
    await Promise.all(ids.slice(110).map((id) => reader.network(id, never)));
  };

  await measure();
  await measure();
  await measure();

  // Writable layers are measured aside, all by one call.
  expect(callsOf(fake)).toEqual({ "/_ping": expect.any(Number), "/containers/ID/json": 220, "/containers/json": 1, "/info": 1 });
});

test("what the engine said of containers when they were started is not asked again to measure them", async () => {
  await using folder = await tempFolder();
  const answers = answersFor(["c1", "c2"]);
  await using fake = await startFakeEngine({ answers });
  await using reader = new StatsReader({ engine: fake.engine, meter: await machineOf(["c1", "c2"], folder.path) });
  const inventory = new EngineInventory(fake.engine, { onInspected: (answer) => reader.noteInspected(answer) });
  await inventory.inspect("c1", never);
  expect(callsOf(fake)["/containers/ID/json"]).toBe(1);

  await reader.container("c1", never);
  await reader.network("c1", never);
  expect(callsOf(fake)["/containers/ID/json"]).toBe(1);
  await reader.container("c2", never);
  expect(callsOf(fake)["/containers/ID/json"]).toBe(2);
});

test("a container's figures are those of its control group, and a pod's traffic that of its sandbox's network", async () => {
  await using folder = await tempFolder();
  await using fake = await startFakeEngine({ answers: answersFor(["c1"]) });
  await using reader = new StatsReader({ engine: fake.engine, meter: await machineOf(["c1"], folder.path) });

  expect(await reader.container("c1", never)).toMatchObject({
    name: "c1",
    startTime: startedAt,
    cpu: { usageCoreNanoSeconds: 9000 },
    memory: { usageBytes: 8192, workingSetBytes: 6144, rssBytes: 4096 },
    cgroup: { path: "/vkpods/podu1/c1", cpuUserNanoSeconds: 5000 },
  });
  expect(await reader.network("c1", never)).toMatchObject({ name: "eth0", rxBytes: 100, txPackets: 2 });
});

test("where control groups cannot be seen the engine is asked, and a process of another container is none of its own", async () => {
  await using folder = await tempFolder();
  await using fake = await startFakeEngine({ answers: answersFor(["c1"]) });
  const meter = await machineOf(["c1"], folder.path);
  await using reader = new StatsReader({ engine: fake.engine, meter });
  await writeFile(join(folder.path, "proc/1/cgroup"), "0::/vkpods/podu1/other\n");

  expect(await reader.container("c1", never)).toMatchObject({ cpu: { usageCoreNanoSeconds: 5000 }, memory: { usageBytes: 4096 } });
  expect(await reader.network("c1", never)).toMatchObject({ name: "eth0", rxBytes: 7 });
});

test("a container that has ended is not found, whether it was measured before or not", async () => {
  await using folder = await tempFolder();
  let isRunning = true;
  await using fake = await startFakeEngine({ answers: answersFor(["c1", "c2"], { isRunning: () => isRunning }) });
  await using reader = new StatsReader({ engine: fake.engine, meter: await machineOf(["c1"], folder.path) });
  await reader.container("c1", never);
  isRunning = false;
  await rm(join(folder.path, "proc/1"), { recursive: true });

  for (const id of ["c1", "c2", "c1"]) await expect(reader.container(id, never)).rejects.toSatisfy(isNotFound);
  await expect(reader.network("c1", never)).rejects.toSatisfy(isNotFound);
});
