import { mkdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Container, PodSpec } from "@virtual-kubelet/core";
import { describe, expect, test } from "vitest";
import { podWith } from "../test-support/pod-rig.ts";
import { tempFolder } from "../test-support/temp-folder.ts";
import { makeMemoryDir, makeOpenDir, memoryDirBytes, sizeLimitBytes } from "./empty-dir.ts";
import { systemMounts, type HostMounts } from "./host-mounts.ts";

const Mi = 2 ** 20;
const limited = (memory?: string, more: Partial<Container> = {}): Container => ({
  name: "app",
  ...(memory !== undefined && { resources: { limits: { memory } } }),
  ...more,
});

describe("memoryDirBytes", () => {
  test.for<[string | undefined, Partial<PodSpec>, number | undefined]>([
    [undefined, { containers: [limited()] }, undefined],
    ["1Mi", { containers: [limited()] }, Mi],
    [undefined, { containers: [limited("2Mi"), limited("3Mi")] }, 5 * Mi],
    ["1Mi", { containers: [limited("2Mi")] }, Mi],
    ["4Mi", { containers: [limited("2Mi")] }, 2 * Mi],
    ["0", { containers: [limited("2Mi")] }, 2 * Mi],
    ["4Mi", { containers: [limited("2Mi"), limited()] }, 4 * Mi],
    [undefined, { containers: [limited("2Mi"), limited("0")] }, undefined],
    [undefined, { containers: [limited("2Mi")], initContainers: [limited("8Mi")] }, 2 * Mi],
    [undefined, { containers: [limited("2Mi")], initContainers: [limited("8Mi", { restartPolicy: "Always" })] }, 10 * Mi],
    [undefined, { containers: [limited("2Mi")], initContainers: [limited(undefined, { restartPolicy: "Always" })] }, undefined],
    [undefined, { containers: [limited("2Mi")], resources: { limits: { memory: "1Mi" } } }, Mi],
    ["4Mi", { containers: [limited("2Mi")], resources: { limits: { memory: "0" } } }, 4 * Mi],
    [undefined, { containers: [{ name: "app", resources: { requests: { memory: "2Mi" } } }] }, undefined],
    [undefined, { containers: [limited("2Mi")], resources: { requests: { memory: "1Mi" } } }, 2 * Mi],
    [undefined, { containers: [] }, undefined],
  ])("with the limit %s in %j: %s bytes", ([sizeLimit, spec, bytes]) => {
    expect(memoryDirBytes(sizeLimit, podWith(spec))).toBe(bytes);
  });
});

test.for([
  [undefined, undefined],
  ["0", undefined],
  ["1", 1],
  ["1.5Ki", 1536],
] as const)("a volume's limit of %s is %s bytes", ([sizeLimit, bytes]) => {
  expect(sizeLimitBytes(sizeLimit)).toBe(bytes);
});

test("a limit that is not a quantity is refused", () => {
  expect(() => sizeLimitBytes("lots")).toThrow(expect.objectContaining({ code: "VK_INVALID_INPUT" }));
});

describe("makeOpenDir", () => {
  test("creates a world-writable folder and its parents, whatever the program's umask", async () => {
    await using folder = await tempFolder();
    const path = join(folder.path, "a/b");
    const before = process.umask(0o077);
    await makeOpenDir(path, undefined).finally(() => process.umask(before));

    expect((await stat(path)).mode & 0o7777).toBe(0o777);
    await expect(stat(`${path}.unfinished`)).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("replaces a leftover of an interrupted creation, and refuses a path that is not a folder", async () => {
    await using folder = await tempFolder();
    const path = join(folder.path, "a");
    await mkdir(`${path}.unfinished`);
    await writeFile(join(`${path}.unfinished`, "half"), "");
    await makeOpenDir(path, undefined);
    await expect(stat(join(path, "half"))).rejects.toMatchObject({ code: "ENOENT" });

    await writeFile(join(folder.path, "file"), "");
    await expect(makeOpenDir(join(folder.path, "file"), undefined)).rejects.toMatchObject({ code: "ENOTDIR" });
    await expect(makeOpenDir(join(folder.path, "file/inner"), undefined)).rejects.toMatchObject({ code: "ENOTDIR" });
  });
});

describe("makeMemoryDir", () => {
  const mounting = (listed: readonly string[] = []): { readonly mounts: HostMounts; readonly mounted: unknown[] } => {
    const mounted: unknown[] = [];
    return {
      mounted,
      mounts: {
        ...systemMounts,
        list: async () => listed.map((path) => ({ path, fileSystem: "tmpfs" })),
        mountTmpfs: async (target, options) => void mounted.push([target, options]),
      },
    };
  };

  test.for([
    [{}, ["mode=1777"]],
    [{ sizeBytes: 4096 }, ["size=4096", "mode=1777"]],
    [{ fsGroup: 7 }, ["mode=3777", "gid=7"]],
    [{ sizeBytes: 4096, fsGroup: 7 }, ["size=4096", "mode=3777", "gid=7"]],
  ] as const)("mounts a tmpfs with %j as %j", async ([options, expected]) => {
    await using folder = await tempFolder();
    const path = join(folder.path, "a/b");
    const { mounts, mounted } = mounting();

    await makeMemoryDir({ path, ...options }, mounts);

    expect(mounted).toEqual([[path, expected]]);
    expect((await stat(path)).isDirectory()).toBe(true);
  });

  test("leaves an existing mount unchanged", async () => {
    await using folder = await tempFolder();
    const path = join(folder.path, "a");
    const { mounts, mounted } = mounting([path]);

    await makeMemoryDir({ path }, mounts);

    expect(mounted).toEqual([]);
  });
});
