import type { ContainerStatus, Pod } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { logProblem } from "./log-availability.ts";

function pod(status: Partial<ContainerStatus>, list: "containerStatuses" | "initContainerStatuses" | "ephemeralContainerStatuses"): Pod {
  const full: ContainerStatus = { name: "c", image: "", imageID: "", ready: false, restartCount: 0, ...status };
  return { metadata: { name: "p" }, status: { [list]: [full] } };
}

const ended = { exitCode: 1, containerID: "docker://1" };
const neverRan = { exitCode: 128 };

const table: readonly [string, Partial<ContainerStatus>, boolean, string | undefined][] = [
  ["a running container has logs", { state: { running: {} } }, false, undefined],
  ["a container that ended has logs", { state: { terminated: ended } }, false, undefined],
  [
    "one that ended at a back end without IDs has logs",
    { state: { terminated: { exitCode: 0, startedAt: "2026-01-01T00:00:00Z" } } },
    false,
    undefined,
  ],
  [
    "one that could not be started has the logs of the time before",
    { state: { terminated: neverRan }, lastState: { terminated: ended } },
    false,
    undefined,
  ],
  ["one that never ran has none", { state: { terminated: neverRan } }, false, 'container "c" in pod "p" is terminated'],
  ["one in back-off has the logs of its last run", { state: { waiting: {} }, lastState: { terminated: ended } }, false, undefined],
  [
    "one in back-off that never ran has none",
    { state: { waiting: {} }, lastState: { terminated: { ...neverRan, containerID: "" } } },
    false,
    'container "c" in pod "p" is terminated',
  ],
  [
    "one that is being made has none",
    { state: { waiting: { reason: "ContainerCreating" } } },
    false,
    'container "c" in pod "p" is waiting to start: ContainerCreating',
  ],
  [
    "one without an image has none",
    { state: { waiting: { reason: "ErrImagePull" } } },
    false,
    'container "c" in pod "p" is waiting to start: image can\'t be pulled',
  ],
  [
    "one that waits for its image has none",
    { state: { waiting: { reason: "ImagePullBackOff" } } },
    false,
    'container "c" in pod "p" is waiting to start: trying and failing to pull image',
  ],
  ["one of which nothing is known has none", { state: {} }, false, 'container "c" in pod "p" is waiting to start - no logs yet'],
  ["the previous one of a restarted container has logs", { state: { running: {} }, lastState: { terminated: ended } }, true, undefined],
  [
    "the previous one of a container's first run has none",
    { state: { running: {} }, lastState: {} },
    true,
    'previous terminated container "c" in pod "p" not found',
  ],
];

test.each(table)("%s", (_name, status, previous, expected) => {
  for (const list of ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"] as const)
    expect(logProblem(pod(status, list), "c", { previous })).toBe(expected);
});

test("a container without a status is not available", () => {
  expect(logProblem({ metadata: { name: "p" } }, "c", { previous: false })).toBe('container "c" in pod "p" is not available');
});

test("a pod without a name has none, and a container that waits without a reason waits for nothing in particular", () => {
  const waiting = { ...pod({ state: { waiting: {} } }, "containerStatuses"), metadata: {} };

  expect(logProblem(waiting, "c", { previous: false })).toBe('container "c" in pod "" is waiting to start: ');
});

test("of several containers the one that is asked for is looked at", () => {
  const full: ContainerStatus = { name: "c", image: "", imageID: "", ready: false, restartCount: 0, state: { running: {} } };
  const two = { metadata: { name: "p" }, status: { containerStatuses: [{ ...full, name: "b", state: {} }, full] } };

  expect([logProblem(two, "c", { previous: false }), logProblem(two, "b", { previous: false })]).toEqual([
    undefined,
    'container "b" in pod "p" is waiting to start - no logs yet',
  ]);
});
