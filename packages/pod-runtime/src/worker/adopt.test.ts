import type { Pod } from "@virtual-kubelet/core";
import { describe, expect, test } from "vitest";
import { adoptPod, endedUnheard } from "./adopt.ts";
import { specHash } from "../pod/desired-pod.ts";
import type { RuntimeContainerState, RuntimeInventory } from "../runtime/container-runtime.ts";
import { containerLabels, originLabels, podLabels } from "../runtime/labels.ts";
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

test("the newest attempt and the newest sandbox count", () => {
  const state = adoptPod(podWith({}), { inventory: inventory({ "app-0": exited(1), "app-1": running }) }, now);

  expect(state.containers.get("app")).toMatchObject({ attempt: 1, life: { kind: "running", instance: { id: "app-1" } } });
  expect([state.stage.kind, state.sandboxAttempt]).toEqual(["up", 4]);
});

test("a container that was created but not started belongs to the next attempt", () => {
  expect(lives(podWith({}), inventory({ "app-2": { kind: "created" } }))).toEqual({ app: "idle 1" });
});

test("init containers do not run again after a later container has run, even if they were removed", () => {
  const pod = podWith({ initContainers: [{ name: "one", image: "app:1" }] });

  expect(lives(pod, inventory({ "app-0": running }))).toEqual({ one: "ended -1", app: "running 0" });
});

test("init containers run again if the sandbox is gone", () => {
  const pod = podWith({ initContainers: [{ name: "one", image: "app:1" }] });
  const state = adoptPod(pod, { inventory: inventory({ "one-0": exited(0), "app-0": exited(137) }, false) }, now);

  expect(state.stage.kind).toBe("noSandbox");
  expect(state.containers.get("one")).toMatchObject({ isInitialized: false, life: { kind: "idle" } });
});

test("readiness is kept if the stored status is of the same container", () => {
  const container = { name: "app", image: "app:1", readinessProbe: { tcpSocket: { port: 80 } } };
  const status = { name: "app", image: "", imageID: "", restartCount: 0, ready: true, started: true, containerID: "fake://app-0" };
  const pod = { ...podWith({ containers: [container] }), status: { containerStatuses: [status] } };
  const other = { ...pod, status: { containerStatuses: [{ ...status, containerID: "fake://app-9" }] } };

  expect(adoptPod(pod, { inventory: inventory({ "app-0": running }) }, now).containers.get("app")?.life).toMatchObject({ isReady: true });
  expect(adoptPod(other, { inventory: inventory({ "app-0": running }) }, now).containers.get("app")?.life).toMatchObject({
    isReady: false,
  });
});

test("a restart count never falls below that of the stored status", () => {
  const status = { name: "app", image: "", imageID: "", restartCount: 5, ready: false, state: { running: {} } };
  const pod = { ...podWith({}), status: { containerStatuses: [status] } };

  expect(lives(pod, inventory({ "app-0": running }))).toEqual({ app: "running 5" });
  expect(lives(pod, { sandboxes: [], containers: [] })).toEqual({ app: "idle 5" });
});

test("a container that ran and does not exist any more has ended, and is not run again in a pod that never restarts", () => {
  const status = { name: "app", image: "", imageID: "", restartCount: 0, ready: false, state: { running: {} }, containerID: "fake://x" };
  const pod = { ...podWith({ restartPolicy: "Never" }), status: { containerStatuses: [status] } };

  expect(adoptPod(pod, { inventory: { sandboxes: [], containers: [] } }, now).containers.get("app")).toMatchObject({
    life: { kind: "ended" },
    lastTermination: { exitCode: 137, reason: "ContainerStatusUnknown", id: "x" },
  });
});

test("a deletion and an active deadline continue", () => {
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

test("objects of others are ignored", () => {
  const held = inventory({ "app-0": running });
  const stranger = held.containers.map((container) => ({ ...container, labels: {} }));

  expect(lives(podWith({}), { ...held, containers: stranger })).toEqual({ app: "idle -1" });
});

test("the end before the newest attempt is kept, with its message in the stored status", () => {
  const last = { terminated: { exitCode: 1, message: "disk full", containerID: "fake://app-0" } };
  const status = { name: "app", image: "", imageID: "", restartCount: 1, ready: true, state: { running: {} }, lastState: last };
  const pod = { ...podWith({}), status: { containerStatuses: [{ ...status, containerID: "fake://app-1" }] } };
  const state = adoptPod(pod, { inventory: inventory({ "app-0": exited(1), "app-1": running }) }, now);

  expect(state.containers.get("app")).toMatchObject({ lastTermination: { id: "app-0", exitCode: 1, message: "disk full" } });
});

test("an end that is not in the stored status gets the container's termination message", () => {
  const held = inventory({ "app-0": exited(0), "app-1": exited(1) });

  expect(endedUnheard(podWith({}), held).map(({ id, attempt }) => [id, attempt])).toEqual([["app-1", 1]]);
  const state = adoptPod(podWith({ restartPolicy: "Never" }), { inventory: held, messages: new Map([["app-1", "disk full"]]) }, now);
  expect(state.containers.get("app")?.lastTermination).toMatchObject({ id: "app-1", message: "disk full" });
});

/** A pod with this stored status of its container `app`. */
function heard(
  status: Partial<NonNullable<NonNullable<Pod["status"]>["containerStatuses"]>[number]>,
  spec: Parameters<typeof podWith>[0] = {},
): Pod {
  return {
    ...podWith(spec),
    status: { containerStatuses: [{ name: "app", image: "", imageID: "", restartCount: 0, ready: false, ...status }] },
  };
}

const nothing: RuntimeInventory = { sandboxes: [], containers: [] };

describe("a pod without objects at the runtime", () => {
  test("and without a stored status has not started", () => {
    expect(adoptPod(podWith({}), { inventory: nothing }, now)).toMatchObject({
      stage: { kind: "noSandbox", failures: 0 },
      sandboxAttempt: -1,
      deadSandboxes: [],
      ending: undefined,
      isDeleted: false,
      activeSinceMs: now.monotonicMs,
      whole: { isSure: false },
    });
    expect(lives(podWith({}), nothing)).toEqual({ app: "idle -1" });
  });

  test("whose container only waited has not run, whatever its restart count", () => {
    const pod = heard({ restartCount: 3, state: { waiting: { reason: "ContainerCreating" } } });

    expect(lives(pod, nothing)).toEqual({ app: "idle -1" });
  });

  test("whose container waited for its restart has run", () => {
    const pod = heard({ restartCount: 3, state: { waiting: {} }, lastState: { terminated: { exitCode: 1 } } });

    expect(lives(pod, nothing)).toEqual({ app: "idle 3" });
  });

  test("keeps the stored termination of a container", () => {
    const startedAt = "2025-12-31T23:58:00Z";
    const finishedAt = "2025-12-31T23:59:00Z";
    const terminated = { exitCode: 4, reason: "OOMKilled", message: "full", startedAt, finishedAt };
    const state = adoptPod(
      heard({ containerID: "fake://x", state: { terminated } }, { restartPolicy: "Never" }),
      { inventory: nothing },
      now,
    );

    expect(state.containers.get("app")).toMatchObject({
      life: { kind: "ended" },
      attempt: 0,
      lastTermination: {
        exitCode: 4,
        reason: "OOMKilled",
        message: "full",
        startedAtMs: Date.parse(startedAt),
        finishedAtMs: Date.parse(finishedAt),
        id: "x",
      },
    });
  });

  test("has an error with the current time if the stored termination is incomplete", () => {
    const state = adoptPod(
      heard({ state: { terminated: { exitCode: 4, startedAt: "nonsense" } } }, { restartPolicy: "Never" }),
      { inventory: nothing },
      now,
    );

    expect(state.containers.get("app")?.lastTermination).toEqual({
      exitCode: 4,
      reason: "Error",
      message: undefined,
      startedAtMs: undefined,
      finishedAtMs: now.wallMs,
      id: "",
    });
  });

  test("has lost a container that was last running", () => {
    const startedAt = "2025-12-31T23:58:00Z";
    const ended = (running: object): unknown =>
      adoptPod(
        heard({ containerID: "fake://x", state: { running } }, { restartPolicy: "Never" }),
        { inventory: nothing },
        now,
      ).containers.get("app")?.lastTermination;

    expect(ended({ startedAt })).toMatchObject({
      reason: "ContainerStatusUnknown",
      startedAtMs: Date.parse(startedAt),
      finishedAtMs: now.wallMs,
      id: "x",
    });
    expect(ended({})).toMatchObject({ startedAtMs: now.wallMs });
  });

  test("runs init containers and sidecars again, even those that had succeeded", () => {
    const pod: Pod = {
      ...podWith({ restartPolicy: "OnFailure", initContainers: [{ name: "one", image: "app:1" }] }),
      status: {
        initContainerStatuses: [
          { name: "one", image: "", imageID: "", restartCount: 0, ready: true, state: { terminated: { exitCode: 0 } } },
        ],
      },
    };

    expect(lives(pod, nothing)).toEqual({ one: "idle 0", app: "idle -1" });
    const deleted = { ...pod, metadata: { ...pod.metadata, deletionTimestamp: "2026-01-01T00:00:07Z" } };
    expect(lives(deleted, nothing)).toEqual({ one: "ended 0", app: "idle -1" });
  });

  test.for([
    ["Failed", { why: "failed", deadlineMs: now.monotonicMs, reason: "Evicted", message: "full" }],
    ["Succeeded", { why: "finished", deadlineMs: now.monotonicMs }],
    ["Running", undefined],
  ] as const)("with the stored phase %s keeps that phase", ([phase, ending]) => {
    const pod: Pod = { ...podWith({}), status: { phase, reason: "Evicted", message: "full" } };

    expect(adoptPod(pod, { inventory: nothing }, now)).toMatchObject({ isDeleted: false });
    expect(adoptPod(pod, { inventory: nothing }, now).ending).toEqual(ending);
  });
});

describe("with several sandboxes", () => {
  const sandbox = (id: string, attempt: number | undefined, isReady = true): RuntimeInventory["sandboxes"][number] => ({
    id,
    labels: attempt === undefined ? {} : podLabels(ref, owner, attempt),
    isReady,
    ips: [id],
    createdAtMs: 0,
  });
  const adopted = (
    sandboxes: RuntimeInventory["sandboxes"],
    containers: RuntimeInventory["containers"] = [],
  ): ReturnType<typeof adoptPod> => adoptPod(podWith({}), { inventory: { sandboxes, containers } }, now);

  test("the newest ready one is the pod's, with its addresses", () => {
    const state = adopted([sandbox("s1", 1), sandbox("s3", 3), sandbox("s2", 2), sandbox("s4", 4, false)]);

    expect(state).toMatchObject({ stage: { kind: "up", sandboxId: "s3", ips: ["s3"] }, sandboxAttempt: 4, deadSandboxes: [] });
  });

  test("of two with the same attempt, the one with containers is the pod's", () => {
    const [container] = inventory({ "app-0": running }).containers;
    const containers = container ? [{ ...container, sandboxId: "b" }] : [];

    expect(adopted([sandbox("a", 1), sandbox("b", 1), sandbox("c", 1)], containers).stage).toMatchObject({ sandboxId: "b" });
  });

  test("one without an attempt is the oldest", () => {
    expect(adopted([sandbox("odd", undefined), sandbox("s0", 0)]).stage).toMatchObject({ sandboxId: "s0" });
    expect(adopted([sandbox("odd", undefined)])).toMatchObject({ stage: { sandboxId: "odd" }, sandboxAttempt: -1 });
  });

  test("if none is ready, all are ended before another one is created, including those known only from containers", () => {
    const [container] = inventory({ "app-0": running }).containers;
    const containers = container ? [container, { ...container, sandboxId: "gone" }] : [];

    expect(adopted([sandbox("s0", 0, false), sandbox("s1", 1, false)], containers).deadSandboxes).toEqual(["s0", "s1", "gone"]);
  });
});

describe("an adopted container", () => {
  test("has the settings of its labels, or later ones of the stored status", () => {
    const held = inventory({ "app-0": running });
    const containers = held.containers.map((container) => ({
      ...container,
      user: { uid: 7, gid: 8 },
      labels: { ...container.labels, ...originLabels("main", { name: "app", image: "app:as-made", resources: { limits: { cpu: "1" } } }) },
    }));
    const recordOf = (pod: Pod): unknown => adoptPod(pod, { inventory: { ...held, containers } }, now).containers.get("app");

    expect(recordOf(podWith({}))).toMatchObject({
      image: { name: "app:as-made", id: "i" },
      user: { uid: 7, gid: 8 },
      resources: { limits: { cpu: "1" } },
      effective: { limits: { cpu: "1" } },
    });
    const resources = { limits: { cpu: "2" } };
    expect(recordOf(heard({ containerID: "fake://app-0", resources }))).toMatchObject({ resources });
    expect(recordOf(heard({ containerID: "fake://app-9", resources }))).toMatchObject({ resources: { limits: { cpu: "1" } } });
  });

  test("has the image's name from the runtime if its labels have none", () => {
    const state = adoptPod(podWith({}), { inventory: inventory({ "app-0": running }) }, now);

    expect(state.containers.get("app")?.image).toEqual({ name: "app:1", id: "i" });
  });

  test("has the pod-level limits of the stored status", () => {
    const pod = podWith({ resources: { limits: { cpu: "4" } } });
    const effectiveOf = (of: Pod): unknown =>
      adoptPod(of, { inventory: inventory({ "app-0": running }) }, now).containers.get("app")?.effective;

    expect(effectiveOf(pod)).toEqual({ limits: { cpu: "4" } });
    expect(effectiveOf({ ...pod, status: { resources: { limits: { cpu: "2" } } } })).toEqual({ limits: { cpu: "2" } });
    expect(effectiveOf({ ...podWith({}), status: { resources: { limits: { cpu: "2" } } } })).toEqual({});
  });

  test("needs a check of its pod-level resources", () => {
    const resources = { limits: { cpu: "2" } };
    const pod = { ...podWith({ resources: { limits: { cpu: "4" } } }), status: { resources } };

    expect(adoptPod(pod, { inventory: nothing }, now).whole).toEqual({ resources, isSure: false });
  });

  test("is started and ready according to the stored status of the same container", () => {
    const startupProbe = { exec: { command: ["true"] } };
    const spec = { containers: [{ name: "app", image: "app:1", startupProbe }] };
    const lifeOf = (status: object): unknown =>
      adoptPod(heard(status, spec), { inventory: inventory({ "app-0": running }) }, now).containers.get("app")?.life;

    expect(lifeOf({ containerID: "fake://app-0", started: true })).toMatchObject({ isStarted: true, isReady: true });
    expect(lifeOf({ containerID: "fake://app-0", started: false })).toMatchObject({ isStarted: false, isReady: false });
    expect(lifeOf({ containerID: "fake://other", started: true })).toMatchObject({ isStarted: false, isReady: false });
    expect(lifeOf({ started: true })).toMatchObject({ isStarted: false });
  });

  test("is not ready before it is started, and not if the stored status says so", () => {
    const probe = { exec: { command: ["true"] } };
    const lifeOf = (spec: object, status: object): unknown =>
      adoptPod(
        heard({ containerID: "fake://app-0", ...status }, { containers: [{ name: "app", image: "app:1", ...spec }] }),
        { inventory: inventory({ "app-0": running }) },
        now,
      ).containers.get("app")?.life;

    expect(lifeOf({ startupProbe: probe, readinessProbe: probe }, { started: false, ready: true })).toMatchObject({ isReady: false });
    expect(lifeOf({ readinessProbe: probe }, { ready: false })).toMatchObject({ isStarted: true, isReady: false });
  });

  test("that is a sidecar counts as started once if it was", () => {
    const startupProbe = { exec: { command: ["true"] } };
    const initializedOf = (more: object): unknown =>
      adoptPod(
        podWith({ initContainers: [{ name: "proxy", image: "app:1", restartPolicy: "Always", ...more }] }),
        { inventory: inventory({ "proxy-0": running }) },
        now,
      ).containers.get("proxy")?.isInitialized;

    expect([initializedOf({}), initializedOf({ startupProbe })]).toEqual([true, false]);
  });

  test("that runs in another sandbox than the pod's was lost with that sandbox", () => {
    const held = inventory({ "app-0": running });
    const containers = held.containers.map((container) => ({ ...container, sandboxId: "other" }));

    expect(adoptPod(podWith({ restartPolicy: "Never" }), { inventory: { ...held, containers } }, now).containers.get("app")).toMatchObject({
      life: { kind: "ended" },
      lastTermination: { exitCode: 137, reason: "ContainerStatusUnknown", id: "app-0", startedAtMs: now.wallMs - 60_000 },
    });
  });

  test("that was created in another sandbox has not started, and counts only if it turns out to have started", () => {
    const held = inventory({ "app-2": { kind: "created" } });
    const containers = held.containers.map((container) => ({ ...container, sandboxId: "other" }));

    expect(lives(podWith({}), { ...held, containers })).toEqual({ app: "idle 1" });
    expect(adoptPod(podWith({}), { inventory: { ...held, containers } }, now).containers.get("app")?.unbegun).toBe(2);
  });

  test("that ended in another sandbox ended with it, and an init container then runs again", () => {
    const held = inventory({ "one-0": exited(0) });
    const containers = held.containers.map((container) => ({ ...container, sandboxId: "other" }));
    const pod = podWith({ initContainers: [{ name: "one", image: "app:1" }] });

    expect(lives(pod, held)).toEqual({ one: "ended 0", app: "idle -1" });
    expect(lives(pod, { ...held, containers })).toEqual({ one: "idle 0", app: "idle -1" });
  });

  test("keeps the message of its end in the stored status", () => {
    const messageOf = (containerID: string): unknown =>
      adoptPod(
        heard({ containerID, state: { terminated: { exitCode: 1, message: "heard", containerID } } }, { restartPolicy: "Never" }),
        { inventory: inventory({ "app-0": exited(1) }), messages: new Map([["app-0", "read"]]) },
        now,
      ).containers.get("app")?.lastTermination?.message;

    expect([messageOf("fake://app-0"), messageOf("fake://app-1")]).toEqual(["heard", "read"]);
  });

  test("has the end before it as its last one, but not that of an attempt that runs beside it", () => {
    const lastOf = (states: Parameters<typeof inventory>[0]): unknown =>
      adoptPod(podWith({}), { inventory: inventory(states) }, now).containers.get("app")?.lastTermination?.id;

    expect(lastOf({ "app-2": running, "app-0": exited(1), "app-1": exited(2) })).toBe("app-1");
    expect(lastOf({ "app-0": running, "app-1": running })).toBeUndefined();
    expect(lastOf({ "app-0": { kind: "created" }, "app-1": running })).toBeUndefined();
  });
});

test("an init container that does not exist has succeeded if a main container was started after it, with its stored status", () => {
  const pod: Pod = {
    ...podWith({
      initContainers: [
        { name: "one", image: "app:1" },
        { name: "proxy", image: "app:1", restartPolicy: "Always" },
      ],
    }),
    status: {
      initContainerStatuses: [
        { name: "one", image: "", imageID: "", restartCount: 2, ready: true, state: { terminated: { exitCode: 0 } } },
      ],
    },
  };
  const state = adoptPod(pod, { inventory: inventory({ "app-0": running }) }, now);

  expect(state.containers.get("one")).toMatchObject({
    life: { kind: "ended" },
    attempt: 2,
    isInitialized: true,
    lastTermination: { exitCode: 0 },
  });
  expect(state.containers.get("proxy")).toMatchObject({ life: { kind: "idle" }, isInitialized: true });
});

test("a main container in a dead sandbox does not mean that the init containers have succeeded", () => {
  const pod = podWith({ initContainers: [{ name: "one", image: "app:1" }] });
  const held = inventory({ "app-0": exited(1) });
  const containers = held.containers.map((container) => ({ ...container, sandboxId: "other" }));

  expect(adoptPod(pod, { inventory: { ...held, containers } }, now).containers.get("one")).toMatchObject({
    life: { kind: "idle" },
    isInitialized: false,
  });
});

test("an end in the stored status needs no further inspection", () => {
  const pod = heard({ state: { terminated: { exitCode: 1, containerID: "fake://app-1" } } });

  expect(endedUnheard(pod, inventory({ "app-0": exited(0), "app-1": exited(1) }))).toEqual([]);
  expect(endedUnheard(pod, inventory({ "app-2": exited(1) }))).toMatchObject([
    { container: "app", attempt: 2, id: "app-2", exit: { exitCode: 1 } },
  ]);
  expect(endedUnheard(podWith({}), inventory({ "app-0": running, "init-0": { kind: "created" } }))).toEqual([]);
});
