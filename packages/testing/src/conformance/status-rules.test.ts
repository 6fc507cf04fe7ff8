import type { ContainerStatus, Pod, ProviderPodStatus } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { isTime, statusProblems, transitionProblems } from "./status-rules.ts";

const pod: Pod = { spec: { containers: [{ name: "main" }] } };
const running = { running: { startedAt: "2026-01-01T00:00:00Z" } };
const ended = (exitCode: number): NonNullable<ContainerStatus["state"]> => ({
  terminated: { exitCode, startedAt: "2026-01-01T00:00:00Z", finishedAt: "2026-01-01T00:00:01Z" },
});

function container(state: ContainerStatus["state"], rest: Partial<ContainerStatus> = {}): ContainerStatus {
  return { name: "main", image: "a", imageID: "a", ready: false, restartCount: 0, state, ...rest };
}

function status(phase: string, ...containerStatuses: ContainerStatus[]): ProviderPodStatus {
  return { phase, containerStatuses };
}

test.each<[string, ProviderPodStatus]>([
  ["waiting", status("Pending", container({ waiting: { reason: "ContainerCreating" } }))],
  ["running", { ...status("Running", container(running, { ready: true })), podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }] }],
  ["ended well", status("Succeeded", container(ended(0)))],
  ["between two runs", status("Running", container({ waiting: { reason: "CrashLoopBackOff" } }, { lastState: ended(1) }))],
])("a status that a kubelet could write has no problems: %s", (_name, good) => {
  expect(statusProblems(pod, good)).toEqual([]);
});

test.each<[string, ProviderPodStatus, string]>([
  ["an unknown phase", status("Done", container(running)), "phase is Done"],
  ["no container status", status("Pending"), "containerStatuses are of [], expected one for each of [main]"],
  ["a container that is not in the spec", status("Running", container(running), { ...container(running), name: "x" }), "are of [main x]"],
  ["two states at once", status("Running", container({ ...running, ...ended(0) })), "has 2 states"],
  ["no state", status("Running", container({})), "has 0 states"],
  [
    "a pod that has succeeded while its container runs",
    status("Succeeded", container(running)),
    "phase is Succeeded while a container runs",
  ],
  ["a pod that has succeeded although its container failed", status("Succeeded", container(ended(1))), "though a container failed"],
  ["a wait without a reason", status("Pending", container({ waiting: {} })), "waits without a reason"],
  [
    "a container that is ready after its end",
    status("Succeeded", container(ended(0), { ready: true })),
    "containerStatuses of main: is ready though it has ended",
  ],
  [
    "a container that is ready while it waits",
    status("Pending", container({ waiting: { reason: "a" } }, { ready: true })),
    "is ready while it waits",
  ],
  ["a running pod whose containers never ran", status("Running", container({ waiting: { reason: "a" } })), "no container has ever run"],
  ["a time without a zone", status("Running", container({ running: { startedAt: "2026-01-01T00:00:00" } })), "expected a time of RFC 3339"],
  ["an invalid exit code", status("Failed", container(ended(-1))), "exitCode is -1"],
  ["a name in place of an address", { ...status("Running", container(running)), podIP: "web" }, '"web" is no IP address'],
  [
    "a podIP that is not the first of podIPs",
    { ...status("Running", container(running)), podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.2" }] },
    "not the first of podIPs",
  ],
  ["a negative restart count", status("Running", container(running, { restartCount: -1 })), "restartCount is -1"],
])("%s is reported as a problem", (_name, bad, problem) => {
  expect(statusProblems(pod, bad).join("\n")).toContain(problem);
});

test.each<[string, ProviderPodStatus, ProviderPodStatus, string]>([
  [
    "a container that runs again after the pod has ended",
    status("Failed", container(ended(1))),
    status("Running", container(running)),
    "stays as it ended",
  ],
  [
    "a phase that goes back from Running to Pending",
    status("Running", container(running)),
    status("Pending", container({ waiting: { reason: "a" } })),
    "Running to Pending",
  ],
  [
    "a restart count that falls",
    status("Running", container(running, { restartCount: 2 })),
    status("Running", container(running)),
    "fell from 2 to 0",
  ],
  [
    "a restart that is not counted",
    status("Running", container(ended(1))),
    status("Running", container(running)),
    "with the same restartCount",
  ],
  [
    "a start time that changes",
    status("Running", container(running)),
    status("Running", container({ running: { startedAt: "2026-01-01T00:00:09Z" } })),
    "startedAt changed",
  ],
  [
    "a container ID that changes during a run",
    status("Running", container(running, { containerID: "a" })),
    status("Running", container(running, { containerID: "b" })),
    "containerID changed from a to b",
  ],
])("%s is reported as a problem", (_name, before, after, problem) => {
  expect(transitionProblems(before, after).join("\n")).toContain(problem);
});

test("a counted restart and the wait before it have no problems", () => {
  const first = status("Running", container(running));
  const waits = status("Running", container({ waiting: { reason: "CrashLoopBackOff" } }, { lastState: ended(1) }));
  const again = status("Running", container({ running: { startedAt: "2026-01-01T00:00:09Z" } }, { restartCount: 1 }));

  expect([...transitionProblems(first, waits), ...transitionProblems(waits, again), ...transitionProblems(first, again)]).toEqual([]);
});

test("a time must be in RFC 3339 format with a zone", () => {
  expect(["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.123456789+01:00"].map(isTime)).toEqual([true, true]);
  expect(["2026-01-01", "2026-13-01T00:00:00Z", undefined, 5].map(isTime)).toEqual([false, false, false, false]);
});
