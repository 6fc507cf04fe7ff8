import { VirtualClock } from "@virtual-kubelet/clock";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../test-support/temp-folder.ts";
import { diskUse, fileSystemRoom, inodeUse } from "./disk-use.ts";
import type { runTool } from "./run-tool.ts";

test("a folder with endless files does not prevent the measurement of the others", async () => {
  const clock = new VirtualClock();
  const runs: string[][] = [];
  const run: typeof runTool = async (_name, { args, until }) => {
    const paths = args.slice(args.indexOf("--") + 1);
    runs.push(paths);
    const endless = paths.findIndex((path) => path.endsWith("endless"));
    const measured = endless < 0 ? paths : paths.slice(0, endless);
    if (endless >= 0) await new Promise((resolve) => until?.addEventListener("abort", resolve));
    return { exitCode: 0, stdout: measured.map((path) => `3\t${path}\n`).join(""), stderr: "" };
  };
  const paths = ["/a", "/b-endless", "/c", "/d", "/e-endless"];
  const used = diskUse(paths, { clock, signal: new AbortController().signal, run });

  for (let turn = 0; turn < 3; turn++) await clock.advance(10_000);

  expect(await used).toEqual(new Map(["/a", "/c", "/d"].map((path) => [path, 3072])));
  expect(runs).toEqual([paths, ["/c", "/d", "/e-endless"]]);
});

test("inodes of each folder are counted, including the folder itself", async () => {
  await using folder = await tempFolder();
  const [one, two] = [join(folder.path, "one"), join(folder.path, "two")];
  await Promise.all([mkdir(one), mkdir(two)]);
  await Promise.all(["a", "b"].map((name) => writeFile(join(one, name), "x")));

  const counted = await inodeUse([one, two], { clock: new VirtualClock(), signal: new AbortController().signal });

  expect(counted).toEqual(
    new Map([
      [one, 3],
      [two, 1],
    ]),
  );
});

test("folders are measured in one run, without mounts inside them, in bytes", async () => {
  const calls: unknown[] = [];
  const { signal } = new AbortController();
  const run: typeof runTool = async (name, { args, signal: given }) => {
    calls.push([name, args, given === signal]);
    return { exitCode: 1, stdout: "2\t/a\nnonsense\n7\t/with\ttab\n\n1 /b\nx3\t/c\n", stderr: "du: cannot access" };
  };
  const clock = new VirtualClock();

  expect(await diskUse(["/a", "/b", "/with\ttab"], { clock, signal, run })).toEqual(
    new Map([
      ["/a", 2048],
      ["/with\ttab", 7168],
    ]),
  );
  expect([calls, clock.pending]).toEqual([[["du", ["-skx", "--", "/a", "/b", "/with\ttab"], true]], 0]);
});

test("without folders nothing is run", async () => {
  const run: typeof runTool = () => Promise.reject(new Error("not asked for"));

  expect(await diskUse([], { clock: new VirtualClock(), signal: new AbortController().signal, run })).toEqual(new Map());
});

test("usage of real folders contains everything in them, and missing folders are left out", async () => {
  await using folder = await tempFolder();
  await mkdir(join(folder.path, "full"));
  await mkdir(join(folder.path, "-empty"));
  await writeFile(join(folder.path, "full/file"), Buffer.alloc(64 * 1024, 1));
  const [full, empty, gone] = ["full", "-empty", "gone"].map((name) => join(folder.path, name));

  const used = await diskUse([full ?? "", gone ?? "", empty ?? ""], { clock: new VirtualClock(), signal: new AbortController().signal });

  expect([...used.keys()]).toEqual([full, empty]);
  expect((used.get(full ?? "") ?? 0) - (used.get(empty ?? "") ?? 0)).toBeGreaterThanOrEqual(64 * 1024);
});

test("the capacity of a file system is the sum of its used and free space", async () => {
  const { capacityBytes, availableBytes, usedBytes, inodes, inodesFree } = await fileSystemRoom("/proc/self");
  expect([capacityBytes, availableBytes, usedBytes, inodes, inodesFree]).toEqual([0, 0, 0, 0, 0]);

  const room = await fileSystemRoom("/");
  expect(room.usedBytes + (room.availableBytes ?? 0)).toBeLessThanOrEqual(room.capacityBytes ?? 0);
  expect(room.usedBytes).toBeGreaterThan(4096);
  expect(room.inodesFree).toBeLessThanOrEqual(room.inodes ?? 0);
});
