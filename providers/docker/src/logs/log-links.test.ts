import { systemClock } from "@virtual-kubelet/clock";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { labelNames } from "@virtual-kubelet/pod-runtime";
import { existsSync } from "node:fs";
import { mkdir, readdir, readlink, rename, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../test-support/temp-folder.ts";
import { LogLinks, type EngineLog, type LogLinksOptions } from "./log-links.ts";

const never = new AbortController().signal;

interface Rig extends AsyncDisposable {
  readonly folder: string;
  readonly containers: string;
  /** A program's links in {@link folder}. */
  open(more?: Partial<LogLinksOptions>): LogLinks;
  /** A container with a log at the engine. */
  container(digit: string, labels?: Readonly<Record<string, string>>): Promise<EngineLog>;
  /** The engine removes it. */
  remove(log: EngineLog): Promise<void>;
  /** All that is below {@link folder}: links with their targets. */
  tree(): Promise<readonly string[]>;
}

async function rigOf(): Promise<Rig> {
  const temp = await tempFolder();
  const folder = join(temp.path, "log");
  const containers = join(temp.path, "docker", "containers");
  await mkdir(containers, { recursive: true });
  return {
    folder,
    containers,
    open: (more) => new LogLinks({ folder, isRequired: false, clock: systemClock, logger: silentLogger, ...more }),
    container: async (digit, more = {}) => {
      const id = digit.repeat(64);
      const logPath = join(containers, id, `${id}-json.log`);
      await mkdir(join(containers, id));
      await writeFile(logPath, "");
      const labels = {
        [labelNames.podNamespace]: "shop",
        [labelNames.podName]: "web",
        [labelNames.podUid]: "u1",
        [labelNames.container]: "app",
        [labelNames.attempt]: "0",
        ...more,
      };
      return { id, logPath, labels };
    },
    remove: ({ id }) => rm(join(containers, id), { recursive: true }),
    tree: async () => {
      const entries = await readdir(folder, { withFileTypes: true, recursive: true });
      const lines = entries.map(async (entry) => {
        const path = join(entry.parentPath, entry.name);
        const name = path.slice(folder.length + 1).replaceAll(/(\w)\1{63}/g, "ID$1");
        return entry.isSymbolicLink()
          ? `${name} > ${(await readlink(path)).replace(folder, "").replaceAll(/.*(\w)\1{63}.*/g, "log $1")}`
          : name;
      });
      return (await Promise.all(lines)).toSorted();
    },
    [Symbol.asyncDispose]: () => temp[Symbol.asyncDispose](),
  };
}

test("a container has a link for its pod, and one to that for itself; both go with it, and its folders", async () => {
  await using rig = await rigOf();
  const links = rig.open();
  const log = await rig.container("a");
  await links.link(log);
  expect(await rig.tree()).toEqual([
    "containers",
    "containers/web_shop_app-IDa.log > /pods/shop_web_u1/app/0.log",
    "pods",
    "pods/shop_web_u1",
    "pods/shop_web_u1/app",
    "pods/shop_web_u1/app/0.log > log a",
  ]);
  await rig.remove(log);
  await links.unlink(log.id);
  expect(await rig.tree()).toEqual(["containers", "pods"]);
});

test("one that has ended keeps its links beside its successor's, as long as the engine has it", async () => {
  await using rig = await rigOf();
  const links = rig.open();
  const [first, second] = [await rig.container("a"), await rig.container("b", { [labelNames.attempt]: "1" })];
  await links.link(first);
  await links.link(second);
  expect(await links.sweep(never)).toBe(0);
  await links.unlink(first.id);
  expect(await rig.tree()).toEqual([
    "containers",
    "containers/web_shop_app-IDb.log > /pods/shop_web_u1/app/1.log",
    "pods",
    "pods/shop_web_u1",
    "pods/shop_web_u1/app",
    "pods/shop_web_u1/app/1.log > log b",
  ]);
});

test("links of containers that went while no program looked are removed, and no others", async () => {
  await using rig = await rigOf();
  const [gone, held] = [await rig.container("a"), await rig.container("b", { [labelNames.podUid]: "u2" })];
  await rig.open().link(gone);
  await rig.open().link(held);
  // A kubelet on the same machine.
  const kubelets = join(rig.folder, "pods", "kube-system_proxy_u3", "proxy");
  await mkdir(kubelets, { recursive: true });
  await writeFile(join(kubelets, "0.log"), "");
  await symlink(join(kubelets, "1.log"), join(rig.folder, "containers", "rotating.log"));
  await rig.remove(gone);
  expect(await rig.open().sweep(never)).toBe(1);
  expect(await rig.tree()).toEqual([
    "containers",
    "containers/rotating.log > /pods/kube-system_proxy_u3/proxy/1.log",
    "containers/web_shop_app-IDb.log > /pods/shop_web_u2/app/0.log",
    "pods",
    "pods/kube-system_proxy_u3",
    "pods/kube-system_proxy_u3/proxy",
    "pods/kube-system_proxy_u3/proxy/0.log",
    "pods/shop_web_u2",
    "pods/shop_web_u2/app",
    "pods/shop_web_u2/app/0.log > log b",
  ]);
});

test("a log that is being rotated, or an engine whose disk is away, is no removed container", async () => {
  await using rig = await rigOf();
  const log = await rig.container("a");
  await rig.open().link(log);
  await rename(log.logPath, `${log.logPath}.1`);
  expect(await rig.open().sweep(never)).toBe(0);
  await rename(rig.containers, `${rig.containers}-away`);
  expect(await rig.open().sweep(never)).toBe(0);
});

test("a container that was removed and made again takes over the link", async () => {
  await using rig = await rigOf();
  const [first, second] = [await rig.container("a"), await rig.container("b")];
  await rig.open().link(first);
  await rig.remove(first);
  await rig.open().link(second);
  expect((await rig.tree()).filter((line) => line.includes("0.log >"))).toEqual(["pods/shop_web_u1/app/0.log > log b"]);
});

test("nothing is made for a container that is gone, or whose names lead elsewhere", async () => {
  await using rig = await rigOf();
  const [gone, hostile] = [await rig.container("a"), await rig.container("b", { [labelNames.podName]: "../../.." })];
  await rig.remove(gone);
  const links = rig.open();
  await links.link(gone);
  await links.link(hostile);
  await links.link({ ...hostile, labels: gone.labels, logPath: "/etc/passwd" });
  expect(await rig.tree()).toEqual(["containers", "pods"]);
});

test("a link in the place of a pod's folder is not followed, and a file in the place of a link stays", async () => {
  await using rig = await rigOf();
  const elsewhere = join(rig.containers, "elsewhere");
  await mkdir(elsewhere);
  await mkdir(join(rig.folder, "pods", "shop_web_u2", "app", "0.log"), { recursive: true });
  await symlink(elsewhere, join(rig.folder, "pods", "shop_web_u1"));
  const links = rig.open();
  await links.link(await rig.container("a"));
  await links.link(await rig.container("b", { [labelNames.podUid]: "u2" }));
  expect(await links.sweep(never)).toBe(0);
  expect((await rig.tree()).filter((line) => line.includes("ID"))).toEqual([]);
  expect(existsSync(join(elsewhere, "app", "0.log"))).toBe(false);
});

test.each(["pods", "containers"])("a link in the place of the folder %s is not followed, whenever it was put there", async (name) => {
  await using rig = await rigOf();
  const elsewhere = join(rig.containers, "elsewhere");
  await mkdir(elsewhere);
  const links = rig.open();
  await links.link(await rig.container("a"));
  await rm(join(rig.folder, name), { recursive: true });
  await symlink(elsewhere, join(rig.folder, name));

  await links.link(await rig.container("b"));
  const later = rig.open({ isRequired: true });
  await later.link(await rig.container("c"));

  expect(await readdir(elsewhere)).toEqual([]);
  await expect(later.check()).rejects.toThrow(`${join(rig.folder, name)} is a link`);
});

test("a link in the place of the folder of pods leads no sweep elsewhere", async () => {
  await using rig = await rigOf();
  const links = rig.open();
  const log = await rig.container("a");
  await links.link(log);
  await rig.remove(log);
  await rename(join(rig.folder, "pods"), join(rig.containers, "elsewhere"));
  await symlink(join(rig.containers, "elsewhere"), join(rig.folder, "pods"));

  expect(await links.sweep(never)).toBe(0);
  expect(await readdir(join(rig.containers, "elsewhere", "shop_web_u1", "app"))).toEqual(["0.log"]);
});

test("a link that could not be made is made by a later sweep, as when the disk was full", async () => {
  await using rig = await rigOf();
  const links = rig.open();
  const [log, gone, removed] = [await rig.container("a"), await rig.container("b"), await rig.container("c")];
  const inTheWay = join(rig.folder, "pods", "shop_web_u1");
  await mkdir(join(rig.folder, "pods"), { recursive: true });
  await writeFile(inTheWay, "");
  for (const each of [log, gone, removed]) await links.link(each);
  await rig.remove(gone);
  await links.unlink(removed.id);
  await rm(inTheWay);

  await links.sweep(never);

  expect((await rig.tree()).filter((line) => line.includes(">"))).toEqual([
    "containers/web_shop_app-IDa.log > /pods/shop_web_u1/app/0.log",
    "pods/shop_web_u1/app/0.log > log a",
  ]);
});

test("where the engine's folder is not seen, as in a container without it, that is logged, and links follow once it is", async () => {
  await using rig = await rigOf();
  const reasons: unknown[] = [];
  const links = rig.open({ logger: { ...silentLogger, warn: (fields) => void reasons.push(Object(fields).reason) } });
  const logs = [await rig.container("a"), await rig.container("b")];
  await rename(rig.containers, `${rig.containers}-away`);
  for (const log of logs) await links.link(log);
  expect(reasons).toEqual([`${rig.containers} is not there; if this program runs in a container, mount that folder at the same path`]);

  await rename(`${rig.containers}-away`, rig.containers);
  await links.sweep(never);

  expect((await rig.tree()).filter((line) => line.startsWith("containers/"))).toHaveLength(2);
});

test("a folder that could not be written at the start is used once it can be, and its reason is logged once", async () => {
  await using rig = await rigOf();
  await writeFile(rig.folder, "a file");
  const reasons: unknown[] = [];
  const links = rig.open({ logger: { ...silentLogger, info: (fields) => void reasons.push(Object(fields).reason) } });
  await links.link(await rig.container("a"));
  for (let times = 0; times < 3; times++) await links.sweep(never);
  expect(reasons).toEqual([expect.stringContaining("EEXIST")]);
  await rm(rig.folder);

  await links.sweep(never);

  expect((await rig.tree()).filter((line) => line.includes(">"))).toHaveLength(2);
});

test("a pod whose folder would have a name longer than a file system takes has no links, which is logged once", async () => {
  await using rig = await rigOf();
  const reasons: unknown[] = [];
  const links = rig.open({ logger: { ...silentLogger, warn: (fields) => void reasons.push(Object(fields).reason) } });
  const name = "p".repeat(253);
  await links.link(await rig.container("a", { [labelNames.podName]: name }));
  await links.sweep(never);

  expect(await rig.tree()).toEqual(["containers", "pods"]);
  expect(reasons).toEqual([`make ${join(rig.folder, "pods", `shop_${name}_u1`)}: ENAMETOOLONG: name too long`]);
});

test("a folder that stayed empty goes after an hour, and not while a kubelet may be about to fill it", async () => {
  await using rig = await rigOf();
  const folder = join(rig.folder, "pods", "shop_web_u1", "app");
  await mkdir(folder, { recursive: true });
  const links = rig.open();
  await links.sweep(never);
  expect(existsSync(folder)).toBe(true);
  const longAgo = new Date(systemClock.now() - 4_000_000);
  await utimes(folder, longAgo, longAgo);
  await links.sweep(never);
  expect(existsSync(folder)).toBe(false);
});

test("where the folder cannot be written, links are left out, or asked for with a reason", async () => {
  await using rig = await rigOf();
  await writeFile(rig.folder, "a file");
  const log = await rig.container("a");
  const links = rig.open();
  await links.check();
  await links.link(log);
  expect(await links.sweep(never)).toBe(0);
  await expect(rig.open({ isRequired: true }).check()).rejects.toThrow(
    new RegExp(`^link containers' logs in ${rig.folder}: .+; make it writable, or set log.links to false$`),
  );
});
