import type { ContainerState, ContainerStatus, Pod, PodStatus } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import { createdOnceMore, hasEnded, lastGiven, mayRestart, newPodState, recreationDelayMs, wasStarted } from "./pod-state.ts";

const runs: ContainerState = { running: {} };
const waits: ContainerState = { waiting: {} };
const over: ContainerState = { terminated: { exitCode: 1 } };

function containers(...states: ContainerState[]): ContainerStatus[] {
  return states.map((state, index) => ({ name: `c${index}`, image: "", imageID: "", ready: false, restartCount: 0, state }));
}

const stateless: ContainerStatus[] = [{ name: "c9", image: "", imageID: "", ready: false, restartCount: 0 }];

const sidecar: ContainerStatus = { name: "proxy", image: "", imageID: "", ready: false, restartCount: 0, state: over };

describe("a report", () => {
  test.each<[string, Parameters<typeof hasEnded>[0], boolean]>([
    ["with a final phase", { phase: "Failed" }, true],
    ["with a final phase, whatever the containers are said to do", { phase: "Succeeded", containerStatuses: containers(runs) }, true],
    ["of which every container has ended", { phase: "Running", containerStatuses: containers(over, over) }, true],
    ["of which one container runs", { phase: "Running", containerStatuses: containers(over, runs) }, false],
    ["of which one container waits", { containerStatuses: containers(over, waits) }, false],
    ["of which a sidecar runs", { containerStatuses: containers(over), initContainerStatuses: containers(runs) }, false],
    ["of which the sidecar has ended, too", { containerStatuses: containers(over), initContainerStatuses: containers(over) }, true],
    ["without any containers", { phase: "Running", containerStatuses: [] }, false],
    ["that says nothing", {}, false],
    ["of which one container has no state", { containerStatuses: [...containers(over), ...stateless] }, false],
  ])("%s says that nothing of the pod runs any more: %#", (_what, status, expected) => {
    expect(hasEnded(status, undefined)).toBe(expected);
  });

  test.each<[string, Parameters<typeof hasEnded>[0], boolean]>([
    ["of both containers and the sidecar", { containerStatuses: containers(over, over), initContainerStatuses: [sidecar] }, true],
    ["that lacks a container", { containerStatuses: containers(over), initContainerStatuses: [sidecar] }, false],
    ["that lacks the sidecar", { containerStatuses: containers(over, over) }, false],
    ["that lacks them all and has a final phase", { phase: "Failed" }, true],
  ])("%s says that the pod has ended: %#", (_what, status, expected) => {
    const containersOf = [{ name: "c0" }, { name: "c1" }];
    const initContainers = [{ name: "setup" }, { name: "proxy", restartPolicy: "Always" as const }];

    expect(hasEnded(status, { spec: { containers: containersOf, initContainers } })).toBe(expected);
  });
});

describe("containers that have ended", () => {
  const pod = (restartPolicy: string): Pod => ({ spec: { restartPolicy, containers: [{ name: "c0" }] } });

  test.each([
    ["Always", 0, true],
    ["OnFailure", 1, true],
    ["OnFailure", 0, false],
    ["Never", 1, false],
  ] as const)("under %s after exit code %i may run again: %s", (policy, exitCode, expected) => {
    expect(mayRestart(pod(policy), { containerStatuses: containers({ terminated: { exitCode } }) })).toBe(expected);
  });

  test("without an exit code have failed, as their status says", () => {
    const unclear = { terminated: {} } as ContainerState;
    expect(mayRestart(pod("OnFailure"), { containerStatuses: containers(unclear) })).toBe(true);
  });

  test("do not run again in a pod whose phase is final", () => {
    expect(mayRestart(pod("Always"), { phase: "Failed", containerStatuses: containers(over) })).toBe(false);
  });
});

describe("a pod", () => {
  test.each<[string, PodStatus | undefined, boolean]>([
    ["without a status", undefined, false],
    ["whose containers wait", { containerStatuses: containers(waits) }, false],
    ["whose containers have no state", { containerStatuses: stateless, initContainerStatuses: stateless }, false],
    ["of which one container runs", { containerStatuses: containers(waits, runs) }, true],
    ["of which one container has ended", { containerStatuses: containers(over) }, true],
    ["of which an init container runs", { initContainerStatuses: containers(runs) }, true],
    [
      "whose container waits for its next run",
      { containerStatuses: containers(waits).map((status) => ({ ...status, lastState: over })) },
      true,
    ],
  ])("%s was started: %#", (_what, status, expected) => {
    expect(wasStarted({ ...(status && { status }) })).toBe(expected);
  });
});

test("what a pod was last given is known while it may be there", () => {
  const applied: Pod = { metadata: { name: "web" } };

  expect(lastGiven({ kind: "present", applied, sinceMs: 0 })).toBe(applied);
  expect(lastGiven({ kind: "unknown", applied })).toBe(applied);
  expect(
    [{ kind: "unknown" }, { kind: "absent" }, { kind: "gone" }, { kind: "ending", deadlineMs: 0, lookAtMs: 0, accepted: true }].map(
      (backend) => lastGiven(backend as Parameters<typeof lastGiven>[0]),
    ),
  ).toEqual([undefined, undefined, undefined, undefined]);
});

describe("how long a pod is left alone that the back end has lost", () => {
  const ref = { namespace: "default", name: "web", uid: "u1" };
  const after = (count: number, ms: number): number =>
    recreationDelayMs({ ...newPodState(ref, 0), creations: { count, lastMs: 1_000 } }, 1_000 + ms);

  test.each([
    [0, 0],
    [1, 0],
    [2, 10_000],
    [3, 20_000],
    [6, 160_000],
    [7, 300_000],
    [2_000, 300_000],
  ])("after %i creations is %i ms from the last one", (count, delayMs) => {
    expect(after(count, 0)).toBe(delayMs);
    expect(after(count, 4_000)).toBe(Math.max(0, delayMs - 4_000));
  });

  test("is nothing where the back end held it for ten minutes, and then counts anew", () => {
    const state = { ...newPodState(ref, 0), creations: { count: 5, lastMs: 0 } };

    expect(createdOnceMore(state, 599_999)).toEqual({ count: 6, lastMs: 599_999 });
    expect(createdOnceMore(state, 600_000)).toEqual({ count: 1, lastMs: 600_000 });
    expect(after(7, 600_000)).toBe(0);
  });
});
