import type { ContainerStatus, Pod } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import type { PodIdentity } from "../backend/observation.ts";
import { earlierRuns, earlierRunsOf } from "./earlier-runs.ts";
import type { EarlierRuns } from "./pod-state.ts";

const owner = { clusterId: "c", nodeName: "n" };
const identity: PodIdentity = { ref: { namespace: "default", name: "web", uid: "uid-1" }, owner, attempt: 0 };
const failed = { exitCode: 1 };
const killed = { exitCode: 137 };

const container = (over: Partial<ContainerStatus> = {}): ContainerStatus => ({
  name: "main",
  image: "app",
  imageID: "",
  ready: false,
  restartCount: 0,
  ...over,
});

test.for<[string, Partial<ContainerStatus>, EarlierRuns, { restarts: number; lastState: object | undefined }]>([
  ["one run, and its end", { state: { terminated: failed } }, new Map(), { restarts: 1, lastState: { terminated: failed } }],
  [
    "all runs of an object that restarts containers by itself",
    { restartCount: 3, state: { terminated: failed } },
    new Map(),
    { restarts: 4, lastState: { terminated: failed } },
  ],
  [
    "the runs of objects before it",
    { restartCount: 1, state: { terminated: failed } },
    new Map([["main", { restarts: 5, lastState: { terminated: killed } }]]),
    { restarts: 7, lastState: { terminated: failed } },
  ],
  [
    "the last end of a container that is lost while it runs",
    { state: { running: {} }, lastState: { terminated: killed } },
    new Map(),
    { restarts: 1, lastState: { terminated: killed } },
  ],
  [
    "the end before an object whose container never ran",
    { state: { waiting: {} } },
    new Map([["main", { restarts: 1, lastState: { terminated: killed } }]]),
    { restarts: 2, lastState: { terminated: killed } },
  ],
])("an ended object leaves %s", ([, status, earlier, left]) => {
  const observation = {
    progress: "ended",
    status: { phase: "Running", containerStatuses: [container(status)] },
    memory: undefined,
  } as const;
  const object = { id: "a", identity, sinceMs: 0, isVisible: true, createdAt: undefined, remote: undefined, observation, earlier };

  expect(earlierRuns(object)).toEqual(new Map([["main", left]]));
});

test("an ended object leaves the runs of its init containers too, and one that was never described none", () => {
  const status = { phase: "Running", initContainerStatuses: [container({ name: "setup", state: { terminated: { exitCode: 0 } } })] };
  const object = { id: "a", identity, sinceMs: 0, isVisible: true, createdAt: undefined, remote: undefined, earlier: new Map() };

  expect(earlierRuns({ ...object, observation: { progress: "ended", status, memory: undefined } })).toEqual(
    new Map([["setup", { restarts: 1, lastState: { terminated: { exitCode: 0 } } }]]),
  );
  expect(earlierRuns({ ...object, observation: undefined })).toEqual(new Map());
});

const podWith = (...containerStatuses: ContainerStatus[]): Pod => ({ status: { containerStatuses } });

test.for<[string, Pod | undefined, number, Partial<ContainerStatus>, EarlierRuns]>([
  ["nothing comes before the first object", podWith(container({ restartCount: 3 })), 0, {}, new Map()],
  [
    "without a stored status the attempts are counted",
    undefined,
    2,
    { containerID: "x://2" },
    new Map([["main", { restarts: 2, lastState: undefined }]]),
  ],
  [
    "the stored status of the same object counts what came before it",
    podWith(container({ containerID: "x://2", restartCount: 5, lastState: { terminated: failed } })),
    2,
    { containerID: "x://2", restartCount: 1 },
    new Map([["main", { restarts: 4, lastState: { terminated: failed } }]]),
  ],
  [
    "an object that has restarted since has not fewer than none before it",
    podWith(container({ containerID: "x://2", restartCount: 1 })),
    2,
    { containerID: "x://2", restartCount: 3 },
    new Map([["main", { restarts: 0, lastState: undefined }]]),
  ],
  [
    "the stored status of the object before it has ended",
    podWith(container({ containerID: "x://1", restartCount: 1, state: { terminated: killed }, lastState: { terminated: failed } })),
    2,
    { containerID: "x://2" },
    new Map([["main", { restarts: 2, lastState: { terminated: killed } }]]),
  ],
  [
    "the stored status between two objects has the last end, and does not count the next run",
    podWith(container({ restartCount: 1, state: { waiting: {} }, lastState: { terminated: killed } })),
    2,
    {},
    new Map([["main", { restarts: 2, lastState: { terminated: killed } }]]),
  ],
])("after a restart of the program, %s", ([, pod, attempt, current, earlier]) => {
  expect(earlierRunsOf(pod, attempt, [container(current)])).toEqual(earlier);
});

test("after a restart of the program, the runs of init containers are known too", () => {
  const pod: Pod = { status: { initContainerStatuses: [container({ name: "setup", state: { terminated: failed } })] } };

  expect(earlierRunsOf(pod, 1, [container({ name: "setup" })])).toEqual(
    new Map([["setup", { restarts: 1, lastState: { terminated: failed } }]]),
  );
});
