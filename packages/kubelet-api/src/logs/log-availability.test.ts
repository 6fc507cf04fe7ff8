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
    "a container that ended at a back end without container IDs has logs",
    { state: { terminated: { exitCode: 0, startedAt: "2026-01-01T00:00:00Z" } } },
    false,
    undefined,
  ],
  [
    "a container that could not be started has the logs of its previous run",
    { state: { terminated: neverRan }, lastState: { terminated: ended } },
    false,
    undefined,
  ],
  ["a container that never ran has none", { state: { terminated: neverRan } }, false, 'container "c" in pod "p" is terminated'],
  ["a container in back-off has the logs of its last run", { state: { waiting: {} }, lastState: { terminated: ended } }, false, undefined],
  [
    "a container in back-off that never ran has none",
    { state: { waiting: {} }, lastState: { terminated: { ...neverRan, containerID: "" } } },
    false,
    'container "c" in pod "p" is terminated',
  ],
  [
    "a container that is being created has none",
    { state: { waiting: { reason: "ContainerCreating" } } },
    false,
    'container "c" in pod "p" is waiting to start: ContainerCreating',
  ],
  [
    "a container without an image has none",
    { state: { waiting: { reason: "ErrImagePull" } } },
    false,
    'container "c" in pod "p" is waiting to start: image can\'t be pulled',
  ],
  [
    "a container that waits for its image has none",
    { state: { waiting: { reason: "ImagePullBackOff" } } },
    false,
    'container "c" in pod "p" is waiting to start: trying and failing to pull image',
  ],
  ["a container with an unknown state has none", { state: {} }, false, 'container "c" in pod "p" is waiting to start - no logs yet'],
  ["a restarted container has previous logs", { state: { running: {} }, lastState: { terminated: ended } }, true, undefined],
  [
    "a container in its first run has no previous logs",
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

test("a pod without a name has an empty name in the message, and a waiting container without a reason an empty reason", () => {
  const waiting = { ...pod({ state: { waiting: {} } }, "containerStatuses"), metadata: {} };

  expect(logProblem(waiting, "c", { previous: false })).toBe('container "c" in pod "" is waiting to start: ');
});

test("of several containers, the requested one is checked", () => {
  const full: ContainerStatus = { name: "c", image: "", imageID: "", ready: false, restartCount: 0, state: { running: {} } };
  const two = { metadata: { name: "p" }, status: { containerStatuses: [{ ...full, name: "b", state: {} }, full] } };

  expect([logProblem(two, "c", { previous: false }), logProblem(two, "b", { previous: false })]).toEqual([
    undefined,
    'container "b" in pod "p" is waiting to start - no logs yet',
  ]);
});
