import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { tempFolder } from "../test-support/temp-folder.ts";
import { ImageFolders, type ImageFoldersOptions } from "./image-folders.ts";

const never = new AbortController().signal;
const id = `sha256:${"1".repeat(64)}`;
const other = `sha256:${"2".repeat(64)}`;
/** Files take real time, and on a busy machine much of it. */
const soon = { timeout: 30_000, interval: 10 };
const nobody = async (): Promise<Set<string>> => new Set();

interface Rig extends AsyncDisposable {
  readonly path: string;
  /** Images that were asked for, in order. */
  readonly filled: string[];
  /** A program's folders, at the same place. */
  start(options?: Partial<ImageFoldersOptions>): ImageFolders;
  /** What is there since the machine's start. */
  names(boot?: string): Promise<string[]>;
}

async function rigOf(): Promise<Rig> {
  const folder = await tempFolder();
  const path = join(folder.path, "images");
  const filled: string[] = [];
  return {
    ...folder,
    path,
    filled,
    start: (options = {}) =>
      new ImageFolders({
        path,
        bootId: async () => "boot-1\n",
        fill: async (imageId, target) => {
          filled.push(imageId);
          await writeFile(join(target, "file"), imageId);
        },
        logger: silentLogger,
        ...options,
      }),
    names: async (boot = "boot-1") => (await readdir(join(path, boot))).sort(),
  };
}

test("the files of an image are taken once for all who use them, and by the next program, too", async () => {
  await using rig = await rigOf();
  await using folders = rig.start();

  const held = await Promise.all([folders.hold(id, never), folders.hold(id, never), folders.hold(other, never)]);
  const [one, same] = held;

  expect(one?.path).toBe(join(rig.path, "boot-1", id.replace(":", "-")));
  expect(same?.path).toBe(one?.path);
  expect(await readFile(join(one?.path ?? "", "file"), "utf8")).toBe(id);
  await using next = rig.start();
  using again = await next.hold(id, never);
  expect(again.path).toBe(one?.path);
  expect(rig.filled.sort()).toEqual([id, other]);
});

test("what could not be made whole leaves nothing, and is made the next time", async () => {
  await using rig = await rigOf();
  let isFull = true;
  await using folders = rig.start({
    fill: async (_, target) => {
      await mkdir(join(target, "half"));
      if (isFull) throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
    },
  });

  await expect(folders.hold(id, never)).rejects.toMatchObject({ code: "ENOSPC" });
  expect(await rig.names()).toEqual([]);
  isFull = false;
  using held = await folders.hold(id, never);

  expect(await readdir(held.path)).toEqual(["half"]);
});

test("who waits can give up, and what was begun is there for the next", async () => {
  await using rig = await rigOf();
  const go = Promise.withResolvers<void>();
  await using folders = rig.start({
    fill: async (imageId) => {
      rig.filled.push(imageId);
      await go.promise;
    },
  });
  const abort = new AbortController();

  const waiting = folders.hold(id, abort.signal);
  await expect.poll(() => rig.filled, soon).toEqual([id]);
  abort.abort(new Error("the call took too long"));
  await expect(waiting).rejects.toThrow("the call took too long");
  expect([...folders.making]).toEqual([id]);
  go.resolve();
  using held = await folders.hold(id, never);

  expect(held.path).toContain("boot-1");
  expect(rig.filled).toEqual([id]);
});

test("a program that ends gives up what it is making, and leaves no half folder", async () => {
  await using rig = await rigOf();
  const folders = rig.start({
    fill: async (imageId, _, signal) => {
      rig.filled.push(imageId);
      await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
  });
  const failed = folders.hold(id, never).catch((error: unknown) => error);
  await expect.poll(() => rig.filled, soon).toEqual([id]);

  await folders[Symbol.asyncDispose]();

  expect(String(await failed)).toContain("the runtime was closed");
  expect(await rig.names()).toEqual([]);
});

test("folders go that nobody uses or holds, and what programs that were killed have left half done", async () => {
  await using rig = await rigOf();
  await using folders = rig.start();
  const held = await folders.hold(id, never);
  (await folders.hold(other, never))[Symbol.dispose]();
  for (const name of [`.making-sha256-${"3".repeat(64)}`, `.removing-sha256-${"4".repeat(64)}`]) {
    await mkdir(join(rig.path, "boot-1", name, "deep"), { recursive: true });
  }

  await folders.sweep(async () => new Set([other]));
  expect(await rig.names()).toEqual([id, other].map((each) => each.replace(":", "-")));
  await folders.sweep(nobody);
  expect(await rig.names()).toEqual([id.replace(":", "-")]);
  held[Symbol.dispose]();
  await folders.sweep(nobody);

  expect(await rig.names()).toEqual([]);
});

test("a folder that was held while somebody asked which are used stays: the answer may be older", async () => {
  await using rig = await rigOf();
  await using folders = rig.start();

  await folders.sweep(async () => {
    // Its container is made meanwhile, and is not in the answer.
    (await folders.hold(id, never))[Symbol.dispose]();
    return new Set();
  });

  expect(await rig.names()).toEqual([id.replace(":", "-")]);
});

test("what is being made stays when others are removed", async () => {
  await using rig = await rigOf();
  const go = Promise.withResolvers<void>();
  await using folders = rig.start({
    fill: async (imageId) => {
      rig.filled.push(imageId);
      await go.promise;
    },
  });
  const making = folders.hold(id, never);
  await expect.poll(() => rig.filled, soon).toEqual([id]);

  await folders.sweep(nobody);
  expect(await rig.names()).toEqual([`.making-${id.replace(":", "-")}`]);
  go.resolve();

  expect(await readdir((await making).path)).toEqual([]);
});

test("folders from before the machine was started do not count, and go", async () => {
  await using rig = await rigOf();
  await using before = rig.start();
  using _held = await before.hold(id, never);
  await using after = rig.start({ bootId: async () => "boot-2" });

  using held = await after.hold(id, never);
  await after.sweep(async () => new Set([id]));

  expect(held.path).toContain("boot-2");
  expect(await readdir(rig.path)).toEqual(["boot-2"]);
});

test("an id that is none is no folder", async () => {
  await using rig = await rigOf();
  await using folders = rig.start();

  for (const bad of ["../x", "a/b", "", "."]) await expect(folders.hold(bad, never)).rejects.toMatchObject({ code: "VK_INVALID_INPUT" });
});
