import { VirtualClock } from "@virtual-kubelet/clock";
import type { PodEvent } from "@virtual-kubelet/core";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { BackgroundWork } from "@virtual-kubelet/remote-pods";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { NomadClient } from "../api/nomad-client.ts";
import type { Allocation, TaskState } from "../api/types.ts";
import { readJobMeta } from "../job/job-meta.ts";
import { containerWith, namespaceOf, owner, planOf, podWith } from "../test-support/pods.ts";
import type { PodEntry } from "./pod-entry.ts";
import { PodRegistry } from "./pod-registry.ts";
import { StartRetries } from "./start-retries.ts";

const { job } = planOf(podWith());

let clock: VirtualClock;
let background: BackgroundWork;
let retries: StartRetries;
let entry: PodEntry;
let stopped: boolean;
let meta: Readonly<Record<string, string>>;
let registered: number;
let events: PodEvent[];

beforeEach(() => {
  [clock, stopped, meta, registered, events] = [new VirtualClock(), false, job.Meta, 0, []];
  background = new BackgroundWork({ clock, logger: silentLogger, backEnd: "Nomad" });
  const registry = new PodRegistry({ owner, namespaceOf, reader: { skip() {} } });
  const stub = (): object => ({ ID: job.ID, Namespace: "default", Meta: meta, Stop: stopped, CreateIndex: 10, JobModifyIndex: 10 });
  const client = {
    readJobSpec: async () => ({ spec: { ...job }, stub: stub() }),
    registerJob: async ({ Meta }: { readonly Meta: typeof meta }) => {
      [meta, registered] = [Meta, registered + 1];
      return { index: 10, warnings: "" };
    },
  } as unknown as NomadClient;
  const recordEvent = (_: unknown, event: PodEvent): void => void events.push(event);
  retries = new StartRetries({
    clientOf: () => client,
    clock,
    owner,
    namespaceOf,
    registry,
    background,
    firstDelayMs: 10_000,
    recordEvent,
    onStarted: () => {},
  });
  entry = registry.noteJob({ ID: job.ID, Namespace: "default", Meta: meta, CreateIndex: 10, JobModifyIndex: 10 }) as PodEntry;
});
afterEach(async () => {
  retries.cancel(entry);
  await background[Symbol.asyncDispose]();
  expect(clock.pending).toBe(0);
});

function failedTask(minutes = 0): TaskState {
  const failure = { Type: "Driver Failure", Time: 1e18 + minutes * 60e9, Details: { driver_error: "no such file" } };
  return { State: "dead", Failed: true, Restarts: 0, StartedAt: null, Events: [failure] };
}

/** The pod's start has failed. @param minutes - how long after its beginning */
function fail(number: number, minutes = 0, tasks: Readonly<Record<string, TaskState>> = {}): void {
  const allocation: Allocation = {
    ID: `a-${number}`,
    JobID: job.ID,
    Namespace: "default",
    NodeID: "n",
    CreateIndex: 10 + number,
    ModifyIndex: 10 + number,
    CreateTime: 1e18,
    ClientStatus: "failed",
    DesiredStatus: "run",
    TaskStates: { main: failedTask(minutes), ...tasks },
  };
  entry.allocation = allocation;
  retries.schedule(entry);
}

test("the back-off doubles from start to start up to five minutes, and begins anew after a start that lasted ten", async () => {
  const delays: (number | undefined)[] = [];
  for (let number = 1; number <= 8; number++) {
    fail(number, number === 7 ? 10 : 0);
    delays.push(retries.delayOf(entry));
    await clock.advance((delays.at(-1) ?? 0) - 1);
    expect(registered).toBe(number - 1);
    await clock.advance(1);
    expect(registered).toBe(number);
  }

  expect(delays).toEqual([10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 10_000, 20_000]);
  expect(entry).toMatchObject({ allocation: undefined, attempt: { failures: 2, after: 18, restarts: { main: 8 } } });
  expect(readJobMeta({ ID: job.ID, Namespace: "default", Meta: meta }, owner, namespaceOf)).toMatchObject({
    kind: "pod",
    attempt: entry.attempt,
  });
  expect(events[1]).toEqual({
    type: "Warning",
    reason: "BackOff",
    message: "Back-off 20s before the pod is started again: no such file",
    container: "main",
  });
});

test("restarts of a container named as what every object inherits are counted", async () => {
  const named = planOf(podWith({ containers: [containerWith({ name: "constructor" })] })).shape;
  entry = Object.assign(entry, { shape: named });
  fail(1, 0, { constructor: failedTask() });
  await clock.advance(10_000);

  expect(entry.attempt.restarts).toEqual({ constructor: 1 });
  expect(readJobMeta({ ID: job.ID, Namespace: "default", Meta: meta }, owner, namespaceOf)).toMatchObject({
    kind: "pod",
    attempt: { restarts: { constructor: 1 } },
  });
});

test("what is told twice of a failed start counts once", async () => {
  fail(1);
  fail(1);
  await clock.advance(60_000);

  expect([registered, events.length]).toEqual([1, 1]);
});

test("a pod is not started again while Nomad still ends a container of it", async () => {
  fail(1, 0, { other: { State: "running", Failed: false, Restarts: 0 } });
  await clock.advance(60_000);
  expect(registered).toBe(0);
  fail(1);
  await clock.advance(10_000);

  expect(registered).toBe(1);
});

test("a job that somebody has stopped meanwhile is not registered again", async () => {
  fail(1);
  stopped = true;
  await clock.advance(10_000);

  expect([registered, entry.stopped, retries.delayOf(entry)]).toEqual([0, true, undefined]);
});

test("a job that was registered again before its reply was lost is not registered once more", async () => {
  fail(1);
  await clock.advance(10_000);
  fail(1);
  await clock.advance(20_000);

  expect(registered).toBe(1);
  expect(entry).toMatchObject({ allocation: undefined, nextStart: undefined, attempt: { failures: 1 } });
});
