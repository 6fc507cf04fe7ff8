import { VirtualClock } from "@virtual-kubelet/clock";
import { silentLogger, type Logger } from "@virtual-kubelet/kube-client";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { unlinkSync, watch } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { lockNode, type NodeLockOptions } from "./node-lock.ts";
import { ConfigError } from "../program-error.ts";

let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "vk-lock-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

const clock = new VirtualClock();
const { signal } = new AbortController();

function lock(given: Partial<NodeLockOptions> = {}): Promise<AsyncDisposable> {
  const directory = join(folder, "pki");
  return lockNode({ nodeName: "vk", directory, pid: 1, standby: false, clock, logger: silentLogger, signal, ...given });
}

/** A socket whose program was killed. */
async function leaveDeadLock(name = "vk.lock.0"): Promise<void> {
  await mkdir(join(folder, "pki"), { recursive: true });
  const script = `require("net").createServer().listen(${JSON.stringify(join(folder, "pki", name))}, () => console.log("ok"))`;
  const child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  child.kill("SIGKILL");
  await once(child, "close");
}

test("the second is refused with the first's process id, and told what to do", async () => {
  await using _first = await lock({ pid: 4711 });

  const refusal: unknown = await lock().catch((error: unknown) => error);

  expect(refusal).toBeInstanceOf(ConfigError);
  expect(String(refusal)).toMatch(
    /node vk: process 4711 on this host is already running it \(.*\/pki\/vk\.lock\.\*\); stop that one, .* another --cert-dir if it is a node of another cluster$/,
  );
});

test("what was let go of can be had again", async () => {
  for (let round = 0; round < 3; round++) {
    await using held = await lock();
    expect(held).toBeDefined();
  }
});

test("two nodes, and one node with two folders, are no matter of each other", async () => {
  await using _one = await lock();
  await using _other = await lock({ nodeName: "vk-2" });
  await using _longer = await lock({ nodeName: "vk.lock.vk" });
  await using elsewhere = await lock({ directory: join(folder, "elsewhere") });

  expect(elsewhere).toBeDefined();
});

test("a name that is no file name, as an instance can have, is locked, too", async () => {
  await using _one = await lock({ nodeName: "group-sim.rack 1/../ä", pid: 4711 });

  await expect(lock({ nodeName: "group-sim.rack 1/../ä" })).rejects.toThrow("process 4711");
});

test("the lock of a program that was killed is nobody's", async () => {
  await leaveDeadLock();
  expect(await readdir(join(folder, "pki"))).toEqual(["vk.lock.0"]);

  await using _held = await lock();

  await expect(lock()).rejects.toThrow("on this host is already running it");
});

test("the sockets of programs that were killed while they made their claims are removed, and no other node's", async () => {
  await leaveDeadLock(".vk.lock.0");
  await leaveDeadLock(".vk.lock.b.lock.0");

  await using _held = await lock();

  const names = await readdir(join(folder, "pki"));
  expect(names.toSorted()).toEqual([".vk.lock.b.lock.0", expect.stringMatching(/^vk\.lock\.[\da-f-]+$/)]);
});

test("while locks come and go, one that is being made is never taken for a dead program's", async () => {
  const warnings: string[] = [];
  const logger: Logger = { ...silentLogger, warn: (_fields, message) => void warnings.push(message) };
  let isHeld = false;
  const comeAndGo = async (): Promise<void> => {
    for (let round = 0; round < 30; round++)
      try {
        await using _held = await lock({ logger });
        expect(isHeld).toBe(false);
        isHeld = true;
        await new Promise(setImmediate);
        isHeld = false;
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error;
      }
  };

  await Promise.all(Array.from({ length: 10 }, comeAndGo));

  expect(warnings).toEqual([]);
  expect(await readdir(join(folder, "pki"))).toEqual([]);
});

test("a claim that is taken for a dead program's while it is being made is made again", async () => {
  const directory = join(folder, "pki");
  const warnings: string[] = [];
  const logger: Logger = { ...silentLogger, warn: (_fields, message) => void warnings.push(message) };
  await mkdir(directory);
  let isRemoved = false;
  using _watcher = watchFolder(directory, (name) => {
    if (isRemoved || !name.startsWith(".")) return;
    try {
      unlinkSync(join(directory, name));
      isRemoved = true;
    } catch {
      // It had been made by then.
    }
  });
  for (let round = 0; round < 1_000 && !isRemoved; round++) {
    await using _held = await lock({ logger });
    await expect(lock({ logger })).rejects.toThrow("on this host is already running it");
  }

  expect({ isRemoved, warnings }).toEqual({ isRemoved: true, warnings: [] });
});

function watchFolder(directory: string, onChange: (name: string) => void): Disposable {
  const watcher = watch(directory, (_event, name) => onChange(name ?? ""));
  return { [Symbol.dispose]: () => watcher.close() };
}

/** A claim whose name comes behind all others, of a program that says who it is and does not decide. */
async function claimUndecided(): Promise<AsyncDisposable & { readonly asked: Promise<unknown> }> {
  await mkdir(join(folder, "pki"));
  const server = createServer((socket) => void socket.write("4711\n"));
  const sockets: Socket[] = [];
  server.on("connection", (socket) => sockets.push(socket.on("error", () => {})));
  server.listen(join(folder, "pki/vk.lock.ffffffff-ffff"));
  await once(server, "listening");
  return {
    asked: once(server, "connection"),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      const closed = once(server, "close");
      server.close();
      await closed;
    },
  };
}

test("a program that is slow to decide is waited for, and leaves the node to who came at the same time", async () => {
  const ownClock = new VirtualClock();
  const slow = await claimUndecided();
  const first = lock({ clock: ownClock });
  await slow.asked;
  await expect.poll(() => ownClock.pending).toBe(1);

  await ownClock.advance(9_999);
  await slow[Symbol.asyncDispose]();

  await using held = await first;
  expect(held).toBeDefined();
});

test("a program that does not decide for ten seconds counts as one that holds the node", async () => {
  const ownClock = new VirtualClock();
  await using slow = await claimUndecided();
  const second = lock({ clock: ownClock });
  second.catch(() => undefined);
  await slow.asked;
  await expect.poll(() => ownClock.pending).toBe(1);

  await ownClock.advance(10_000);

  await expect(second).rejects.toThrow("process 4711 on this host is already running it");
});

/** A program that holds the lock, is stopped, and whose socket nobody can connect to any more. */
async function leaveStoppedProgram(): Promise<AsyncDisposable> {
  await mkdir(join(folder, "pki"));
  const path = join(folder, "pki/vk.lock.0");
  const script = `
    require("net").createServer().listen({ path: ${JSON.stringify(path)}, backlog: 1 }, () => {
      require("fs").writeSync(1, "ok");
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    });`;
  const child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  const waiting = Array.from({ length: 4 }, () => connect(path).on("error", () => {}));
  return {
    async [Symbol.asyncDispose]() {
      for (const socket of waiting) socket.destroy();
      child.kill("SIGKILL");
      await once(child, "close");
    },
  };
}

test("a program that is stopped holds the node, however many have asked it", async () => {
  await using _stopped = await leaveStoppedProgram();

  await expect(lock()).rejects.toThrow("process of an unknown id on this host is already running it");
});

test("of many that start at once after a crash one gets the lock", async () => {
  await leaveDeadLock();

  const outcomes = await Promise.allSettled(Array.from({ length: 20 }, (_, index) => lock({ pid: index })));
  const held = outcomes.filter((outcome) => outcome.status === "fulfilled");
  for (const { value } of held) await value[Symbol.asyncDispose]();

  expect(held).toHaveLength(1);
  expect(await readdir(join(folder, "pki"))).toEqual([]);
});

test("a folder whose path is too long for a socket does as well, and so does the longest name of a node", async () => {
  const directory = join(folder, "d".repeat(200));
  const nodeName = "n".repeat(253);
  await using _held = await lock({ directory, nodeName });

  await expect(lock({ directory, nodeName })).rejects.toThrow("on this host is already running it");
  expect(await readdir(directory)).toHaveLength(1);
});

test.each(["file/pki", "/proc/x/y"])("where no lock can be made the program goes on, with one warning: %s", async (directory) => {
  await writeFile(join(folder, "file"), "");
  const warnings: string[] = [];
  const logger: Logger = { ...silentLogger, warn: (_fields, message) => void warnings.push(message) };

  await using held = await lock({ directory: resolve(folder, directory), logger });

  expect(held).toBeDefined();
  expect(warnings).toEqual([expect.stringContaining("no lock can be created beside the certificates")]);
});

test("one that stands by has the lock once the first has gone", async () => {
  const ownClock = new VirtualClock();
  const infos: string[] = [];
  const logger: Logger = { ...silentLogger, info: (_fields, message) => void infos.push(message) };
  const first = await lock();
  let isHeld = false;
  const second = lock({ standby: true, clock: ownClock, logger });
  void second.then(() => (isHeld = true));
  await expect.poll(() => ownClock.pending).toBe(1);

  await ownClock.advance(60_000);
  expect(isHeld).toBe(false);
  await first[Symbol.asyncDispose]();
  await expect
    .poll(async () => {
      await ownClock.advance(1_000);
      return isHeld;
    })
    .toBe(true);

  expect(infos).toEqual(["another program on this host runs the node; standing by"]);
  await (await second)[Symbol.asyncDispose]();
});

test("one that stands by ends with the signal", async () => {
  await using _first = await lock();
  const stop = new AbortController();
  const ownClock = new VirtualClock();
  const second = lock({ standby: true, clock: ownClock, signal: stop.signal });
  await expect.poll(() => ownClock.pending).toBe(1);

  stop.abort(new Error("enough"));

  await expect(second).rejects.toThrow("enough");
});
