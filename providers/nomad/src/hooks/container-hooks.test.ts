import { systemRandom, VirtualClock } from "@virtual-kubelet/clock";
import type { Pod, PodEvent } from "@virtual-kubelet/core";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { BackgroundWork } from "@virtual-kubelet/remote-pods";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { NomadClient } from "../api/nomad-client.ts";
import type { TaskState } from "../api/types.ts";
import { newPodEntry, type PodEntry } from "../pods/pod-entry.ts";
import { containerWith, planOf, podWith } from "../test-support/pods.ts";
import { ContainerHooks } from "./container-hooks.ts";

const sleeping = { sleep: { seconds: 5 } };
const pod: Pod = podWith({
  containers: [containerWith({ lifecycle: { postStart: sleeping, preStop: sleeping } }), containerWith({ name: "other" })],
});
const { job, shape } = planOf(pod);

let clock: VirtualClock;
let background: BackgroundWork;
let hooks: ContainerHooks;
let entry: PodEntry;
let events: PodEvent[];
let changes: number;

beforeEach(() => {
  [clock, events, changes] = [new VirtualClock(), [], 0];
  background = new BackgroundWork({ clock, logger: silentLogger, backEnd: "Nomad" });
  hooks = new ContainerHooks({
    clientOf: () => ({}) as unknown as NomadClient,
    clock,
    random: systemRandom,
    logger: silentLogger,
    background,
    findPod: () => pod,
    recordEvent: (_, event) => void events.push(event),
    onChange: () => void changes++,
  });
  entry = newPodEntry(job.ID, shape);
});
afterEach(async () => {
  hooks[Symbol.dispose]();
  await background[Symbol.asyncDispose]();
  expect(clock.pending).toBe(0);
});

/** Both containers run since that minute. */
function run(minute: number): void {
  const task: TaskState = { State: "running", Failed: false, Restarts: 0, StartedAt: `2026-01-01T00:0${minute}:00Z` };
  entry.allocation = {
    ID: "a-1",
    JobID: job.ID,
    Namespace: "default",
    NodeID: "n",
    CreateIndex: 1,
    ModifyIndex: 1,
    CreateTime: 1e18,
    ClientStatus: "running",
    DesiredStatus: "run",
    TaskStates: { main: task, other: task },
  };
  hooks.watch(entry);
}

const readyNames = (): readonly string[] => {
  const containerStatuses = ["main", "other"].map((name) => ({
    name,
    image: "",
    imageID: "",
    ready: true,
    started: true,
    restartCount: 0,
  }));
  const status = hooks.applyTo({ phase: "Running", containerStatuses }, entry);
  return (status.containerStatuses ?? []).filter(({ ready, started }) => ready && started).map(({ name }) => name);
};

test("a container is not ready while its postStart hook runs, and nobody else waits", async () => {
  hooks.begin("u-1");
  run(1);
  expect(readyNames()).toEqual(["other"]);
  await clock.advance(5000);

  expect(readyNames()).toEqual(["main", "other"]);
  expect(changes).toBe(1);
  run(1);
  expect(readyNames()).toEqual(["main", "other"]);
  run(2);
  expect(readyNames()).toEqual(["other"]);
  await clock.advance(5000);
});

test("a container that has started anew while its postStart hook ran waits for its own, and is not killed for that of the one before", async () => {
  hooks.begin("u-1");
  run(1);
  await clock.advance(2000);
  run(2);
  await clock.advance(3000);
  expect([readyNames(), changes]).toEqual([["other"], 0]);
  await clock.advance(2000);

  expect([readyNames(), changes]).toEqual([["main", "other"], 1]);
});

test("of a pod that is found, what runs already has run its hook, and what starts later has not", async () => {
  run(1);
  expect(readyNames()).toEqual(["main", "other"]);
  run(2);
  expect(readyNames()).toEqual(["other"]);
  await clock.advance(5000);
});

test("preStop hooks are over when they are through, and given up at the deadline, which a later call brings forward", async () => {
  run(1);
  expect(hooks.hasPreStop(entry)).toBe(true);
  let isOver = false;
  void hooks.preStop(entry, clock.monotonic() + 60_000).then(() => (isOver = true));
  await clock.advance(2000);
  expect(isOver).toBe(false);
  void hooks.preStop(entry, clock.monotonic() + 1000);
  await clock.advance(1000);

  expect(isOver).toBe(true);
  expect(events.map(({ reason }) => reason)).toEqual(["FailedPreStopHook"]);
});

test("a pod of which nothing runs has no preStop hook to wait for", () => {
  expect(hooks.hasPreStop(entry)).toBe(false);
});
