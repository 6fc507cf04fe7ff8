import { silentLogger, type Logger } from "@virtual-kubelet/kube-client";
import { FakeClock } from "@virtual-kubelet/kube-client/testing";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { lockNode, type NodeLockOptions } from "./node-lock.ts";
import { ConfigError } from "./program-error.ts";

let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "vk-lock-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

const clock = new FakeClock();
const { signal } = new AbortController();

function lock(given: Partial<NodeLockOptions> = {}): Promise<AsyncDisposable> {
  const directory = join(folder, "pki");
  return lockNode({ nodeName: "vk", directory, pid: 1, standby: false, clock, logger: silentLogger, signal, ...given });
}

/** A socket whose program was killed. */
async function leaveDeadLock(): Promise<void> {
  await mkdir(join(folder, "pki"));
  const script = `require("net").createServer().listen(${JSON.stringify(join(folder, "pki/vk.lock.0"))}, () => console.log("ok"))`;
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
    /node vk: process 4711 on this host runs it already \(.*\/pki\/vk\.lock\.\*\); stop that one, .* another --cert-dir$/,
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

test("the lock of a program that was killed is nobody's", async () => {
  await leaveDeadLock();
  expect(await readdir(join(folder, "pki"))).toEqual(["vk.lock.0"]);

  await using _held = await lock();

  await expect(lock()).rejects.toThrow("on this host runs it already");
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

  await expect(lock()).rejects.toThrow("process of an unknown id on this host runs it already");
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

  await expect(lock({ directory, nodeName })).rejects.toThrow("on this host runs it already");
  expect(await readdir(directory)).toHaveLength(1);
});

test.each(["file/pki", "/proc/x/y"])("where no lock can be made the program goes on, with one warning: %s", async (directory) => {
  await writeFile(join(folder, "file"), "");
  const warnings: string[] = [];
  const logger: Logger = { ...silentLogger, warn: (_fields, message) => void warnings.push(message) };

  await using held = await lock({ directory: resolve(folder, directory), logger });

  expect(held).toBeDefined();
  expect(warnings).toEqual([expect.stringContaining("no lock can be made beside the certificates")]);
});

test("one that stands by has the lock once the first has gone", async () => {
  const ownClock = new FakeClock();
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
  const ownClock = new FakeClock();
  const second = lock({ standby: true, clock: ownClock, signal: stop.signal });
  await expect.poll(() => ownClock.pending).toBe(1);

  stop.abort(new Error("enough"));

  await expect(second).rejects.toThrow("enough");
});
