import type { ContainerStatus, ProviderPodStatus } from "@virtual-kubelet/core";
import { describe, expect, test } from "vitest";
import type { Observation, PodIdentity } from "../backend/observation.ts";
import type { EarlierRuns, KnownObject, PodState } from "./pod-state.ts";
import { statusOf } from "./pod-status.ts";

type State = PodState<string, undefined>;

const identity: PodIdentity = {
  ref: { namespace: "default", name: "web", uid: "uid-1" },
  owner: { clusterId: "c", nodeName: "n" },
  attempt: 1,
};
const failed = { exitCode: 1, reason: "Error" };
const killed = { exitCode: 137, reason: "Error" };

const container = (over: Partial<ContainerStatus> = {}): ContainerStatus => ({
  name: "main",
  image: "app",
  imageID: "sha256:1",
  ready: true,
  restartCount: 0,
  state: { running: {} },
  ...over,
});

function object(status: ProviderPodStatus | undefined, earlier: EarlierRuns = new Map()): KnownObject<string, undefined> {
  const observation: Observation | undefined = status && { progress: "running", status, memory: undefined };
  return { id: "a", identity, sinceMs: 0, isVisible: true, createdAt: undefined, remote: undefined, observation, earlier };
}

const running: ProviderPodStatus = { phase: "Running", podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }], containerStatuses: [container()] };
const ended: ProviderPodStatus = { ...running, containerStatuses: [container({ ready: false, state: { terminated: failed } })] };
const deletion = { deadlineMs: 0, sinceMs: 0, isAsked: false, killedAtMs: undefined, isDeleted: false };
const runs = (restarts: number, terminated = failed): EarlierRuns => new Map([["main", { restarts, lastState: { terminated } }]]);

test.for<[string, State, ProviderPodStatus | undefined]>([
  ["nothing of a pod that is gone", { kind: "gone", identity, sinceMs: 0 }, undefined],
  ["nothing of a first create", { kind: "creating", identity, sinceMs: 0 }, undefined],
  ["nothing of a first create with a lost answer", { kind: "unclear", identity, sinceMs: 0 }, undefined],
  ["nothing of an object that was only listed", { kind: "present", object: object(undefined) }, undefined],
  ["nothing of a pod between objects that was never described", { kind: "waiting", object: object(undefined), atMs: 0 }, undefined],
  ["what was observed of an object", { kind: "present", object: object(running) }, running],
  ["the last state of an object that may be missing", { kind: "missing", object: object(running), sinceMs: 0 }, running],
  ["how a pod ended, also if the back end has forgotten it", { kind: "ended", object: object(ended), isForgotten: true }, ended],
  ["the last state of a pod that is being deleted", { kind: "deleting", identity, object: object(running), deletion }, running],
  ["nothing of a deletion whose object may still appear", { kind: "deleting", identity, object: undefined, deletion }, undefined],
])("the status is %s", ([, state, status]) => {
  expect(statusOf(state)).toEqual(status);
});

describe("an object that replaces another", () => {
  const present = (status: ProviderPodStatus, earlier: EarlierRuns): ProviderPodStatus | undefined =>
    statusOf<string, undefined>({ kind: "present", object: object(status, earlier) });

  test("counts the restarts before it, and has the last end", () => {
    const own = { ...running, containerStatuses: [container({ restartCount: 2 }), container({ name: "side" })] };

    expect(present(own, runs(3))?.containerStatuses).toEqual([
      container({ restartCount: 5, lastState: { terminated: failed } }),
      container({ name: "side" }),
    ]);
  });

  test("has its own last end where there is one", () => {
    const own = { ...running, containerStatuses: [container({ restartCount: 1, lastState: { terminated: killed } })] };

    expect(present(own, runs(1))?.containerStatuses?.[0]).toMatchObject({ restartCount: 2, lastState: { terminated: killed } });
  });

  test("counts the runs of init containers too", () => {
    const own = { ...running, initContainerStatuses: [container()] };

    expect(present(own, runs(1))?.initContainerStatuses).toEqual([container({ restartCount: 1, lastState: { terminated: failed } })]);
  });

  test.for<[string, EarlierRuns, string]>([
    ["that has run is Running", runs(1), "Running"],
    ["whose containers never ended is Pending", new Map([["main", { restarts: 1, lastState: undefined }]]), "Pending"],
  ])("of a pod %s while it starts", ([, earlier, phase]) => {
    expect(present({ phase: "Pending", containerStatuses: [] }, earlier)?.phase).toBe(phase);
  });

  test.for(["Succeeded", "Failed"])("of a pod that has run keeps the phase %s", (phase) => {
    expect(present({ phase, containerStatuses: [] }, runs(1))?.phase).toBe(phase);
  });
});

describe("between two objects", () => {
  const between = (status: ProviderPodStatus, earlier: EarlierRuns = new Map()): readonly (ProviderPodStatus | undefined)[] => [
    statusOf<string, undefined>({ kind: "waiting", object: object(status, earlier), atMs: 0 }),
    statusOf<string, undefined>({ kind: "creating", identity, sinceMs: 0, before: object(status, earlier) }),
    statusOf<string, undefined>({ kind: "unclear", identity, sinceMs: 0, before: object(status, earlier) }),
  ];

  test("the ended containers wait for their restart, which is not counted yet, and the pod has no address", () => {
    const expected = {
      phase: "Running",
      podIP: undefined,
      podIPs: undefined,
      containerStatuses: [
        {
          name: "main",
          image: "app",
          imageID: "sha256:1",
          ready: false,
          started: false,
          restartCount: 2,
          lastState: { terminated: failed },
          state: { waiting: { reason: "CrashLoopBackOff", message: "back-off before the pod gets a new object" } },
        },
      ],
    };

    expect(between(ended, runs(2, killed))).toEqual([expected, expected, expected]);
  });

  test("a container that never ended keeps its state, and is not ready", () => {
    const waiting = { waiting: { reason: "ContainerCreating" } };
    const [status] = between({ phase: "Pending", containerStatuses: [container({ state: waiting, ready: true, restartCount: 1 })] });

    expect(status?.phase).toBe("Pending");
    expect(status?.containerStatuses).toEqual([container({ state: waiting, ready: false, started: false, restartCount: 1 })]);
  });
});
