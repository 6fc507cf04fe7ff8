import { VirtualClock } from "@virtual-kubelet/clock";
import { text } from "node:stream/consumers";
import { beforeEach, expect, test } from "vitest";
import { PretendHost, type PretendGroup } from "./pretend-host.ts";
import type { PretendRun } from "./pretend-run.ts";
import type { RunScript } from "./run-script.ts";

let clock: VirtualClock;
let script: RunScript;
let host: PretendHost;
let group: PretendGroup;

beforeEach(async () => {
  clock = new VirtualClock(Date.UTC(2026, 0, 1));
  script = {};
  host = new PretendHost({ clock, script: () => script });
  group = await host.createGroup({ name: "g" });
});

test("a run goes through pull, start and end at the times of its script", async () => {
  const run = start({ pullMs: 3000, startMs: 2000, exit: { afterMs: 1000, exitCode: 4 } });
  await clock.advance(10_000);

  await run.started;
  const at = Date.UTC(2026, 0, 1);
  expect(run.history).toEqual([
    { kind: "pulling", sinceMs: at },
    { kind: "starting", sinceMs: at + 3000 },
    { kind: "running", startedAtMs: at + 5000 },
    { kind: "exited", exitCode: 4, startedAtMs: at + 5000, endedAtMs: at + 6000, isOutOfMemory: false },
  ]);
  expect(await run.ended).toBe(run.state);
});

test.for(["image", "start"] as const)("a run that is refused for its %s never starts", async (why) => {
  const run = start({ pullMs: 1000, startMs: 1000, refused: { why, message: "no" } });
  await clock.advance(5000);
  await run.started;

  expect(run.state).toMatchObject({ kind: "refused", why, message: "no" });
  expect(run.history.map(({ kind }) => kind)).toEqual(why === "image" ? ["pulling", "refused"] : ["pulling", "starting", "refused"]);
});

test("a run can end for lack of memory", async () => {
  const run = start({ exit: { afterMs: 1, exitCode: 137, isOutOfMemory: true } });
  await clock.advance(1);

  expect(run.state).toMatchObject({ exitCode: 137, isOutOfMemory: true });
});

test("lines appear at their times, and none after the end", async () => {
  const lines = [
    { afterMs: 0, text: "a\n" },
    { afterMs: 0, text: "b\n", stream: "stderr" as const },
    { afterMs: 2000, text: "c\n" },
    { afterMs: 9000, text: "never\n" },
  ];
  const run = start({ pullMs: 1000, exit: { afterMs: 3000, exitCode: 0 }, lines });
  expect(await run.log()).toEqual([]);
  await clock.advance(1000);

  expect(await run.log()).toEqual([
    { time: "2026-01-01T00:00:01.000000000Z", stream: "stdout", text: "a\n" },
    { time: "2026-01-01T00:00:01.000000001Z", stream: "stderr", text: "b\n" },
  ]);
  await clock.advance(60_000);
  expect((await run.log()).map((line) => line.text)).toEqual(["a\n", "b\n", "c\n"]);
});

test("a stop takes as long as the script says, and is a kill after the grace period", async () => {
  const slow = start({ onTerminate: { afterMs: 2000, exitCode: 9 } });
  const stubborn = start({ onTerminate: "ignore" });
  const stops = [slow.stop(30_000), stubborn.stop(30_000)];
  await clock.advance(2000);
  expect([slow.state.kind, stubborn.state.kind]).toEqual(["exited", "running"]);
  await clock.advance(28_000);
  await Promise.all(stops);

  expect(slow.state).toMatchObject({ exitCode: 9 });
  expect(stubborn.state).toMatchObject({ exitCode: 137 });
});

test("a second stop shortens the first, and never prolongs it", async () => {
  const run = start({ onTerminate: "ignore" });
  void run.stop(10_000);
  void run.stop(60_000);
  void run.stop(1000);
  await clock.advance(1000);

  expect(run.state).toMatchObject({ kind: "exited", exitCode: 137 });
});

test("a run that ends by itself during its grace period has its own exit code", async () => {
  const run = start({ onTerminate: "ignore", exit: { afterMs: 500, exitCode: 3 } });
  void run.stop(10_000);
  await clock.advance(500);

  expect(run.state).toMatchObject({ exitCode: 3 });
});

test("a stop during the pull refuses the run", async () => {
  const run = start({ pullMs: 1000 });
  await run.stop(1000);

  expect(run.state).toMatchObject({ kind: "refused", why: "start" });
  await clock.advance(5000);
  expect(run.history.map(({ kind }) => kind)).toEqual(["pulling", "refused"]);
});

test("a scripted command reads its input, sees the terminal's size, and returns its exit code", async () => {
  const run = start({
    exec: async ([word = ""], { stream, size }) => {
      const input = await text(stream);
      stream.write(`${word} ${input} ${size()?.rows ?? "-"}`);
      return 6;
    },
  });
  const session = await run.exec(["say"], { terminal: { rows: 1, columns: 2 } });
  await session.resize({ rows: 40, columns: 80 });
  session.stream.end("hi");

  expect(await text(session.stream)).toBe("say hi 40");
  expect(await session.exitCode).toBe(6);
});

test("a command without a script is unknown, and a command ends with its container", async () => {
  const plain = start({});
  const unknown = await plain.exec(["ls"], {});
  expect(await text(unknown.stream)).toContain("ls: no such file");
  expect(await unknown.exitCode).toBe(127);
  const run = start({ exec: () => new Promise(() => {}) });
  const session = await run.exec(["wait"], {});
  await run.stop(0);

  expect(await session.exitCode).toBe(137);
  await expect(run.exec(["ls"], {})).rejects.toThrow("it does not run");
});

test("usage grows with time, and ends with the run", async () => {
  const run = start({ usage: { cpuNanosecondsPerSecond: 5, memoryBytes: 7 } });
  await clock.advance(2000);

  expect(await run.usage()).toEqual({ cpuNanoseconds: 10, memoryBytes: 7 });
  run.exit(1);
  expect(await run.usage()).toBeUndefined();
});

test("groups have addresses of their own, and a disposed group kills its runs", async () => {
  const other = await host.createGroup({ name: "other" });
  expect(other.address).not.toBe(group.address);
  await expect(host.createGroup({ name: "g" })).rejects.toThrow("it exists");
  const run = start({ onTerminate: "ignore" });
  await host[Symbol.asyncDispose]();

  expect(run.state).toMatchObject({ exitCode: 137 });
  expect(host.groups.size).toBe(0);
});

function start(how: RunScript): PretendRun {
  script = how;
  return group.run({ name: "main", attempt: 0, image: "web:1" });
}
