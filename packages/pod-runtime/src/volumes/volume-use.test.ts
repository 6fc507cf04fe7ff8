import { VirtualClock } from "@virtual-kubelet/clock";
import { expect, test } from "vitest";
import { tempFolder } from "../test-support/temp-folder.ts";
import type { ReadyVolume } from "./ready-volume.ts";
import type { runTool } from "./run-tool.ts";
import { VolumeUse } from "./volume-use.ts";

const never = new AbortController().signal;

test("a caller does not wait for a long measurement, and gets it when it is complete", async () => {
  await using folder = await tempFolder();
  const clock = new VirtualClock();
  const finish = Promise.withResolvers<void>();
  const run: typeof runTool = async () => {
    await finish.promise;
    return { exitCode: 0, stdout: `3\t${folder.path}\n`, stderr: "" };
  };
  const source = { kind: "emptyDir", medium: "", sizeLimit: undefined } as const;
  const volume: ReadyVolume = { source, path: folder.path, isMemory: false, watchedLimitBytes: undefined };
  await using use = new VolumeUse({ clock, volumes: () => [volume], run });
  const asked = new Map([["data", volume]]);

  const first = use.of(asked, never);
  await clock.advance(500);
  expect(await first).toEqual([]);

  const second = use.of(asked, never);
  finish.resolve();
  expect(await second).toMatchObject([{ name: "data", usedBytes: 3072 }]);
  await expect(use.of(asked, never)).resolves.toHaveLength(1);
});

test("a failed measurement is reported to the callers, and is retried", async () => {
  const run: typeof runTool = () => Promise.reject(new Error("du is not there"));
  const volume: ReadyVolume = {
    source: { kind: "emptyDir", medium: "", sizeLimit: undefined },
    path: "/none",
    isMemory: false,
    watchedLimitBytes: undefined,
  };
  await using use = new VolumeUse({ clock: new VirtualClock(), volumes: () => [volume], run });

  await expect(use.of(new Map(), never)).rejects.toThrow("du is not there");
  await expect(use.of(new Map(), never)).rejects.toThrow("du is not there");
});

test("volumes in memory have the usage of their file system, paths of the node have none, and all others are measured by du", async () => {
  await using folder = await tempFolder();
  const clock = new VirtualClock();
  const measured: string[] = [];
  const run: typeof runTool = async (_, { args }) => {
    const paths = args.slice(args.indexOf("--") + 1);
    measured.push(...paths);
    const amount = args.includes("--inodes") ? 5 : 3;
    return { exitCode: 0, stdout: paths.map((path) => `${amount}\t${path}\n`).join(""), stderr: "" };
  };
  const emptyDir = { kind: "emptyDir", medium: "", sizeLimit: undefined } as const;
  const claim = { namespace: "shop", name: "data", uid: "c1" };
  const claimed = (of: "local" | "nfs"): Omit<ReadyVolume, "path"> => ({
    source: { kind: "claim", of, claim },
    isMemory: false,
    watchedLimitBytes: undefined,
  });
  const volumes = new Map<string, ReadyVolume>([
    ["disk", { source: emptyDir, path: folder.path, isMemory: false, watchedLimitBytes: undefined }],
    ["memory", { source: emptyDir, path: "/", isMemory: true, watchedLimitBytes: undefined }],
    ["node", { source: { kind: "hostPath", path: "/etc", type: "" }, path: "/etc", isMemory: false, watchedLimitBytes: undefined }],
    ["claimed", { ...claimed("local"), path: folder.path.slice(0, folder.path.lastIndexOf("/")) }],
    ["server", { ...claimed("nfs"), path: "/usr" }],
    ["gone", { source: emptyDir, path: "/nowhere/at/all", isMemory: true, watchedLimitBytes: undefined }],
  ]);
  await using use = new VolumeUse({ clock, volumes: () => [...volumes.values()], run });

  const stats = await use.of(volumes, never);

  expect(measured, "sizes, and inodes").toEqual([folder.path, folder.path]);
  expect(stats.map(({ name, time }) => [name, time])).toEqual([
    ["disk", "2026-01-01T00:00:00.000Z"],
    ["memory", "2026-01-01T00:00:00.000Z"],
    ["claimed", "2026-01-01T00:00:00.000Z"],
  ]);
  expect(stats.map(({ pvcRef }) => pvcRef)).toEqual([undefined, undefined, { name: "data", namespace: "shop" }]);
  expect([stats[0]?.usedBytes, stats[1]?.usedBytes === 3072]).toEqual([3072, false]);
  expect(stats.map(({ inodesUsed, inodes = 0, inodesFree = 0 }) => inodesUsed === inodes - inodesFree)).toEqual([false, true, true]);
  expect(stats[0]?.inodesUsed).toBe(5);
});

test("a measurement is kept for a minute, and concurrent callers share one", async () => {
  await using folder = await tempFolder();
  const clock = new VirtualClock();
  let runs = 0;
  const run: typeof runTool = async (_, { args }) => {
    if (!args.includes("--inodes")) runs++;
    return { exitCode: 0, stdout: `${runs}\t${folder.path}\n`, stderr: "" };
  };
  const source = { kind: "emptyDir", medium: "", sizeLimit: undefined } as const;
  const volume: ReadyVolume = { source, path: folder.path, isMemory: false, watchedLimitBytes: undefined };
  const use = new VolumeUse({ clock, volumes: () => [volume], run });
  const asked = new Map([["data", volume]]);
  await Promise.all([use.of(asked, never), use.of(asked, never)]);
  await clock.advance(59_999);
  expect(await use.of(asked, never)).toMatchObject([{ usedBytes: 1024 }]);
  await clock.advance(1);
  expect(await use.of(asked, never)).toMatchObject([{ usedBytes: 2048 }]);
  expect(clock.pending, "no timer is left").toBe(0);

  await use[Symbol.asyncDispose]();
  await clock.advance(60_000);
  expect(await use.of(asked, never), "the last measurement").toMatchObject([{ usedBytes: 2048 }]);
  expect(runs).toBe(2);
});

test("a caller that gives up does not end the measurement for the others", async () => {
  await using folder = await tempFolder();
  const finish = Promise.withResolvers<void>();
  const run: typeof runTool = async () => {
    await finish.promise;
    return { exitCode: 0, stdout: `3\t${folder.path}\n`, stderr: "" };
  };
  const source = { kind: "emptyDir", medium: "", sizeLimit: undefined } as const;
  const volume: ReadyVolume = { source, path: folder.path, isMemory: false, watchedLimitBytes: undefined };
  await using use = new VolumeUse({ clock: new VirtualClock(), volumes: () => [volume], run });
  const asked = new Map([["data", volume]]);
  const abort = new AbortController();
  const [impatient, patient] = [use.of(asked, abort.signal), use.of(asked, never)];

  abort.abort(new Error("over"));
  await expect(impatient).rejects.toThrow("over");
  finish.resolve();

  expect(await patient).toHaveLength(1);
});
