import { systemClock } from "@virtual-kubelet/clock";
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isUnavailable } from "@virtual-kubelet/errdefs";
import { afterEach, beforeEach, expect, test } from "vitest";
import { eventually } from "../eventually.ts";
import { logTail, startProcess, type ProcessCommand } from "./managed-process.ts";
import { startReaper, type Reaper } from "./reaper.ts";

let directory = "";
let reaper: Reaper;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "vk-process-"));
  reaper = startReaper();
});

afterEach(async () => {
  reaper[Symbol.dispose]();
  await rm(directory, { recursive: true });
});

const shell = (script: string): ProcessCommand => ({
  name: "script",
  program: "/bin/sh",
  args: ["-c", script],
  environment: { PATH: "/usr/bin:/bin" },
  logFile: join(directory, "script.log"),
});

test("a process that ends by itself reports its code, and its output is in the log", async () => {
  await using child = await startProcess(shell("echo one; echo two >&2; exit 3"), { reaper, clock: systemClock });

  expect(await child.exited).toEqual({ code: 3, signal: null });
  expect(await logTail(child.logFile)).toBe("one\ntwo");
});

test("stop gives a process time to clean up", async () => {
  const child = await startProcess(shell("trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.01; done"), {
    reaper,
    clock: systemClock,
  });
  await eventually(async () => expect(await logTail(child.logFile)).toBe("ready"));

  await child.stop();

  expect(child.exit).toEqual({ code: 0, signal: null });
  expect(await logTail(child.logFile)).toBe("ready\nbye");
});

test("stop kills a process that ignores SIGTERM after the grace period", async () => {
  const child = await startProcess(shell("trap '' TERM; echo ready; while :; do sleep 0.01; done"), { reaper, clock: systemClock });
  await eventually(async () => expect(await logTail(child.logFile)).toBe("ready"));

  await child.stop(50);

  expect(child.exit).toEqual({ code: null, signal: "SIGKILL" });
});

test("a program that does not exist is named in the error", async () => {
  const starting = startProcess({ ...shell(""), name: "etcd", program: join(directory, "etcd") }, { reaper, clock: systemClock });

  await expect(starting).rejects.toSatisfy(isUnavailable);
  await expect(starting).rejects.toThrow(`start etcd: cannot run ${join(directory, "etcd")}`);
});

test("the reaper kills the children and removes their folder when the process that started them is killed", async () => {
  const program = `
    import { mkdirSync } from "node:fs";
    import { systemClock } from "@virtual-kubelet/clock";
    import { startReaper } from ${JSON.stringify(join(import.meta.dirname, "reaper.ts"))};
    import { startProcess } from ${JSON.stringify(join(import.meta.dirname, "managed-process.ts"))};
    const work = ${JSON.stringify(join(directory, "work"))};
    mkdirSync(work);
    const child = await startProcess({ name: "sleep", program: "/bin/sh", args: ["-c", "exec sleep 60"], environment: process.env, logFile: work + "/log" }, { reaper: startReaper(work), clock: systemClock });
    console.log(child.pid);
    setInterval(() => {}, 1000);
  `;
  const parent = spawn(process.execPath, ["--conditions=@virtual-kubelet/source", "--input-type=module", "-e", program], {
    cwd: import.meta.dirname,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const pid = await new Promise<number>((resolve) => parent.stdout.once("data", (chunk: Buffer) => resolve(Number(chunk.toString()))));
  expect(isAlive(pid)).toBe(true);

  parent.kill("SIGKILL");

  await eventually(() => expect(isAlive(pid)).toBe(false), { describe: "the child to be killed" });
  await eventually(async () => expect(await readFile(join(directory, "work", "log")).catch(() => "gone")).toBe("gone"));
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
