import { VirtualClock } from "@virtual-kubelet/clock";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";
import type { FailedContainer } from "@virtual-kubelet/pod-runtime/probes";
import { BackgroundWork } from "@virtual-kubelet/remote-pods";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Allocation } from "../api/types.ts";
import { newPodEntry, type PodEntry } from "../pods/pod-entry.ts";
import { planOf, podWith } from "../test-support/pods.ts";
import { instanceId } from "./running-containers.ts";
import { TaskEnds } from "./task-ends.ts";

const startedAt = "2026-11-21T10:00:00.5Z";

let clock: VirtualClock;
let background: BackgroundWork;
let ends: TaskEnds;
let entry: PodEntry;
let calls: string[];
/** Failures of the next restarts, in order. */
let failures: Error[];
let startedNow: string;
let state: "running" | "dead";
let killTimeMs: number;

beforeEach(() => {
  [clock, calls, failures, startedNow, state, killTimeMs] = [new VirtualClock(), [], [], startedAt, "running", 0];
  background = new BackgroundWork({ clock, logger: silentLogger, backEnd: "Nomad" });
  ends = new TaskEnds({
    clock,
    background,
    clientOf: () => ({
      readAllocation: async () =>
        ({ TaskStates: { main: { State: state, Failed: false, Restarts: 0, StartedAt: startedNow } } }) as unknown as Allocation,
      restartTask: async (_allocation, task, killTimeoutMs, signal) => {
        calls.push(`restart ${task} ${killTimeoutMs}`);
        await clock.sleep(killTimeMs, signal);
        const failure = failures.shift();
        if (failure) throw failure;
      },
      signalTask: async (_allocation, task, name) => void calls.push(`${name} ${task}`),
    }),
  });
  entry = newPodEntry("vk-1", planOf(podWith({ terminationGracePeriodSeconds: 20 })).shape);
  entry.allocation = { ID: "a-1" } as Allocation;
});
afterEach(async () => {
  await background[Symbol.asyncDispose]();
  expect(clock.pending).toBe(0);
});

function fail(fields: Partial<FailedContainer> = {}): void {
  ends.end(entry, { name: "main", id: instanceId("a-1", "main", startedAt), graceSeconds: 20, isRestarted: true, ...fields });
}

test("a container is restarted with the pod's grace, once", async () => {
  fail();
  fail();
  await clock.advance(60_000);

  expect(calls).toEqual(["restart main 20000"]);
});

test("a probe's own grace is enforced", async () => {
  killTimeMs = 20_000;
  fail({ graceSeconds: 3 });
  await clock.advance(2_999);
  expect(calls).toEqual(["restart main 20000"]);
  await clock.advance(1);

  expect(calls).toEqual(["restart main 20000", "SIGKILL main"]);
});

test("a restart that Nomad did not take is tried again, and one whose answer was lost is not", async () => {
  failures = [new UnavailableError("no leader")];
  fail();
  await clock.advance(0);
  expect(calls).toHaveLength(1);
  await clock.advance(1_000);
  expect(calls).toHaveLength(2);

  failures = [new UnavailableError("broken off")];
  fail();
  await clock.advance(0);
  startedNow = "2026-11-21T10:01:00Z";
  await clock.advance(60_000);
  expect(calls).toHaveLength(3);
});

test("nothing is done to a pod that is being deleted, to one that is gone, or to another instance", async () => {
  fail({ id: instanceId("a-1", "main", "2026-11-21T09:00:00Z") });
  entry.ending = { deadlineMs: 0, timer: undefined, purge: undefined };
  fail();
  await clock.advance(0);
  expect(calls).toEqual([]);
  entry.ending = undefined;
  failures = [new NotFoundError("unknown allocation")];
  fail();
  await clock.advance(60_000);

  expect(calls).toHaveLength(1);
});

test("a container that never restarts is asked to end, and killed after its grace", async () => {
  fail({ isRestarted: false, graceSeconds: 3 });
  await clock.advance(2_500);
  expect(calls).toEqual(["SIGTERM main"]);
  await clock.advance(600);
  expect(calls).toEqual(["SIGTERM main", "SIGKILL main"]);
  state = "dead";
  await clock.advance(60_000);

  expect(calls).toEqual(["SIGTERM main", "SIGKILL main"]);
});
