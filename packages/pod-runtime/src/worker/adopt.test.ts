import type { Pod } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { adoptPod, endedUnheard } from "./adopt.ts";
import { specHash } from "../pod/spec-hash.ts";
import type { RuntimeContainerState, RuntimeInventory } from "../runtime/container-runtime.ts";
import { containerLabels, podLabels } from "../runtime/labels.ts";
import { podWith } from "../test-support/pod-rig.ts";

const ref = { namespace: "default", name: "web", uid: "u1" };
const owner = { clusterId: "c", nodeName: "n" };
const now = { wallMs: Date.UTC(2026, 0, 1), monotonicMs: 500_000 };
const running: RuntimeContainerState = { kind: "running", startedAtMs: now.wallMs - 60_000 };

function exited(exitCode: number): RuntimeContainerState {
  return { kind: "exited", exitCode, startedAtMs: now.wallMs - 2_000, finishedAtMs: now.wallMs - 1_000 };
}

/** An inventory of one sandbox, `s0`, and containers `<name>-<attempt>` in it. */
function inventory(states: Readonly<Record<string, RuntimeContainerState>>, isReady = true): RuntimeInventory {
  return {
    sandboxes: [{ id: "s0", labels: podLabels(ref, owner, 4), isReady, ips: ["10.0.0.1"], createdAtMs: 0 }],
    containers: Object.entries(states).map(([id, state]) => {
      const [container = "", attempt] = id.split("-");
      const identity = { container, attempt: Number(attempt), specHash: specHash({ name: container, image: "app:1" }) };
      return { id, sandboxId: "s0", labels: containerLabels(ref, owner, identity), image: "app:1", imageId: "i", state };
    }),
  };
}

function lives(pod: Pod, held: RuntimeInventory): Record<string, string> {
  return Object.fromEntries(
    [...adoptPod(pod, { inventory: held }, now).containers].map(([name, { life, attempt }]) => [name, `${life.kind} ${attempt}`]),
  );
}

test("the newest attempt counts, and the newest sandbox", () => {
  const state = adoptPod(podWith({}), { inventory: inventory({ "app-0": exited(1), "app-1": running }) }, now);

  expect(state.containers.get("app")).toMatchObject({ attempt: 1, life: { kind: "running", instance: { id: "app-1" } } });
  expect([state.stage.kind, state.sandboxAttempt]).toEqual(["up", 4]);
});

test("a container that was made and not started is the next attempt's own", () => {
  expect(lives(podWith({}), inventory({ "app-2": { kind: "created" } }))).toEqual({ app: "idle 1" });
});

test("init containers do not run again when a container after them has run, also if they were removed", () => {
  const pod = podWith({ initContainers: [{ name: "one", image: "app:1" }] });

  expect(lives(pod, inventory({ "app-0": running }))).toEqual({ one: "ended -1", app: "running 0" });
});

test("init containers run again when the sandbox is gone", () => {
  const pod = podWith({ initContainers: [{ name: "one", image: "app:1" }] });
  const state = adoptPod(pod, { inventory: inventory({ "one-0": exited(0), "app-0": exited(137) }, false) }, now);

  expect(state.stage.kind).toBe("noSandbox");
  expect(state.containers.get("one")).toMatchObject({ isInitialized: false, life: { kind: "idle" } });
});

test("readiness is kept where the API server heard it of the same container", () => {
  const container = { name: "app", image: "app:1", readinessProbe: { tcpSocket: { port: 80 } } };
  const status = { name: "app", image: "", imageID: "", restartCount: 0, ready: true, started: true, containerID: "fake://app-0" };
  const pod = { ...podWith({ containers: [container] }), status: { containerStatuses: [status] } };
  const other = { ...pod, status: { containerStatuses: [{ ...status, containerID: "fake://app-9" }] } };

  expect(adoptPod(pod, { inventory: inventory({ "app-0": running }) }, now).containers.get("app")?.life).toMatchObject({ isReady: true });
  expect(adoptPod(other, { inventory: inventory({ "app-0": running }) }, now).containers.get("app")?.life).toMatchObject({
    isReady: false,
  });
});

test("a restart count never falls below what the API server heard", () => {
  const status = { name: "app", image: "", imageID: "", restartCount: 5, ready: false, state: { running: {} } };
  const pod = { ...podWith({}), status: { containerStatuses: [status] } };

  expect(lives(pod, inventory({ "app-0": running }))).toEqual({ app: "running 5" });
  expect(lives(pod, { sandboxes: [], containers: [] })).toEqual({ app: "idle 5" });
});

test("a container that ran and is no more has ended, and a pod that never restarts does not run it twice", () => {
  const status = { name: "app", image: "", imageID: "", restartCount: 0, ready: false, state: { running: {} }, containerID: "fake://x" };
  const pod = { ...podWith({ restartPolicy: "Never" }), status: { containerStatuses: [status] } };

  expect(adoptPod(pod, { inventory: { sandboxes: [], containers: [] } }, now).containers.get("app")).toMatchObject({
    life: { kind: "ended" },
    lastTermination: { exitCode: 137, reason: "ContainerStatusUnknown", id: "x" },
  });
});

test("a deletion and an active deadline go on where they were", () => {
  const base = podWith({ activeDeadlineSeconds: 100 });
  const pod = {
    ...base,
    metadata: { ...base.metadata, deletionTimestamp: "2026-01-01T00:00:07Z" },
    status: { startTime: "2025-12-31T23:59:00Z" },
  };

  expect(adoptPod(pod, { inventory: inventory({ "app-0": running }) }, now)).toMatchObject({
    isDeleted: true,
    ending: { why: "deleted", deadlineMs: 507_000 },
    activeSinceMs: 440_000,
  });
});

test("what is none of ours is not touched", () => {
  const held = inventory({ "app-0": running });
  const stranger = held.containers.map((container) => ({ ...container, labels: {} }));

  expect(lives(podWith({}), { ...held, containers: stranger })).toEqual({ app: "idle -1" });
});

test("the end before the newest attempt is told, with what the API server heard of it", () => {
  const last = { terminated: { exitCode: 1, message: "disk full", containerID: "fake://app-0" } };
  const status = { name: "app", image: "", imageID: "", restartCount: 1, ready: true, state: { running: {} }, lastState: last };
  const pod = { ...podWith({}), status: { containerStatuses: [{ ...status, containerID: "fake://app-1" }] } };
  const state = adoptPod(pod, { inventory: inventory({ "app-0": exited(1), "app-1": running }) }, now);

  expect(state.containers.get("app")).toMatchObject({ lastTermination: { id: "app-0", exitCode: 1, message: "disk full" } });
});

test("an end that nobody heard of carries what the container wrote about it", () => {
  const held = inventory({ "app-0": exited(0), "app-1": exited(1) });

  expect(endedUnheard(podWith({}), held).map(({ id, attempt }) => [id, attempt])).toEqual([["app-1", 1]]);
  const state = adoptPod(podWith({ restartPolicy: "Never" }), { inventory: held, messages: new Map([["app-1", "disk full"]]) }, now);
  expect(state.containers.get("app")?.lastTermination).toMatchObject({ id: "app-1", message: "disk full" });
});
