import { systemClock, VirtualClock } from "@virtual-kubelet/clock";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { startFakeEngine } from "../test-support/fake-engine-server.ts";
import { tempFolder } from "../test-support/temp-folder.ts";
import { DiskSizes } from "./disk-sizes.ts";
import { logStats } from "./log-stats.ts";

const time = "2026-01-01T00:00:00.000Z";

test("writable layers of all containers are measured by one call, and keep the time at which they were", async () => {
  await using folder = await tempFolder();
  const fakeTime = new VirtualClock();
  // Answers come in real time.
  const clock = { ...systemClock, now: () => fakeTime.now(), monotonic: () => fakeTime.monotonic() };
  await using fake = await startFakeEngine({
    clock,
    answers: {
      "GET /containers/json": () => ({ status: 200, json: [{ Id: "c1", SizeRw: 77 }, { Id: "c2" }] }),
      "GET /info": () => ({ status: 200, json: { DockerRootDir: folder.path } }),
    },
  });
  await using sizes = new DiskSizes({ engine: fake.engine, labels: { node: "n", cluster: "c" } });
  await vi.waitFor(() => expect(sizes.layer("c1", "")).toBeDefined());
  await fakeTime.advance(50_000);

  expect(sizes.layer("c1", "")).toEqual({
    time,
    usedBytes: 77,
    availableBytes: expect.any(Number),
    capacityBytes: expect.any(Number),
    inodes: expect.any(Number),
    inodesFree: expect.any(Number),
  });
  expect(sizes.layer("c2", "")).toMatchObject({ time, usedBytes: 0 });
  const listed = fake.requests.filter(({ path }) => path === "/containers/json");
  expect(listed.map(({ query }) => Object.fromEntries(query))).toEqual([{ size: "true", filters: '{"label":["node=n","cluster=c"]}' }]);
  expect(sizes.layer("unknown", "")).toBeUndefined();
});

test("inodes of the writable layers that are asked for are counted together, and forgotten with their containers", async () => {
  await using folder = await tempFolder();
  const fakeTime = new VirtualClock();
  const clock = { ...systemClock, now: () => fakeTime.now(), monotonic: () => fakeTime.monotonic() };
  let listed = [{ Id: "c1" }, { Id: "c2" }];
  await using fake = await startFakeEngine({
    clock,
    answers: {
      "GET /containers/json": () => ({ status: 200, json: listed }),
      "GET /info": () => ({ status: 200, json: { DockerRootDir: folder.path } }),
    },
  });
  const counted: (readonly string[])[] = [];
  const countInodes = async (paths: readonly string[]): Promise<ReadonlyMap<string, number>> => {
    counted.push(paths);
    return new Map(paths.map((path) => [path, path.length]));
  };
  await using sizes = new DiskSizes({ engine: fake.engine, labels: {}, countInodes });
  sizes.layer("c1", "/upper/1");
  sizes.layer("c2", "/upper/22");
  await vi.waitFor(() => expect(sizes.layer("c2", "/upper/22")).toMatchObject({ inodesUsed: 9 }));
  expect(sizes.layer("c1", "")).not.toHaveProperty("inodesUsed");

  listed = [{ Id: "c2" }];
  await fakeTime.advance(120_000);
  sizes.layer("c2", "/upper/22");
  await vi.waitFor(() => expect(counted).toEqual([["/upper/1", "/upper/22"], ["/upper/22"]]));
});

test.for([
  { version: "1.41", query: {} },
  { version: "1.42", query: { type: "image" } },
])("what images take up is asked of the engine, by version $version alone if it can", async ({ version, query }) => {
  await using folder = await tempFolder();
  await using fake = await startFakeEngine({
    version: () => version,
    answers: {
      "GET /system/df": () => ({ status: 200, json: { LayersSize: 1_982_305, Images: [] } }),
      "GET /info": () => ({ status: 200, json: { DockerRootDir: folder.path } }),
    },
  });
  await using sizes = new DiskSizes({ engine: fake.engine, labels: {} });

  await vi.waitFor(() => expect(sizes.images()).toMatchObject({ usedBytes: 1_982_305, capacityBytes: expect.any(Number) }));
  const asked = fake.requests.filter(({ path }) => path === "/system/df");
  expect(asked.map(({ query: given }) => Object.fromEntries(given))).toEqual([query]);
});

test("a container's log is all files that the engine keeps of it", async () => {
  await using folder = await tempFolder();
  const write = (name: string, size: number): Promise<void> => writeFile(join(folder.path, name), "x".repeat(size));
  await Promise.all([write("c1-json.log", 10), write("c1-json.log.1", 200), write("c1-json.log.2.gz", 3), write("c1-json.logs", 4000)]);
  await mkdir(join(folder.path, "mounts"));

  expect(await logStats(join(folder.path, "c1-json.log"), time)).toMatchObject({
    time,
    usedBytes: 213,
    inodesUsed: 3,
    capacityBytes: expect.any(Number),
    inodes: expect.any(Number),
  });
  expect(await logStats("", time)).toBeUndefined();
  expect(await logStats(join(folder.path, "gone.log"), time)).toBeUndefined();
  expect(await logStats("/nowhere/at/all.log", time)).toBeUndefined();
});
