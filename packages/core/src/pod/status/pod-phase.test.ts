import type { Container, ContainerStatus, Pod, PodSpec } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import { computePhase, isTerminalPhase } from "./pod-phase.ts";

/** Status of a container by name, without its name. */
type Statuses = Readonly<Record<string, Pick<ContainerStatus, "state" | "lastState" | "started">>>;

const runs = { state: { running: {} } };
const waits = { state: { waiting: {} } };
const ended = (exitCode: number) => ({ state: { terminated: { exitCode } } });
const waitsAfter = (exitCode: number) => ({ state: { waiting: {} }, lastState: { terminated: { exitCode } } });
const runsAfter = (exitCode: number) => ({ state: { running: {} }, lastState: { terminated: { exitCode } } });

function phaseOf(spec: Partial<PodSpec>, statuses: Statuses, isEnding = false): string {
  const pod: Pod = { spec: { containers: [{ name: "a" }, { name: "b" }], ...spec } };
  const entries = Object.entries(statuses).map(([name, status]) => [
    name,
    { name, image: "", imageID: "", ready: false, restartCount: 0, ...status },
  ]);
  return computePhase(pod, new Map(entries as [string, ContainerStatus][]), isEnding);
}

describe("the phase of a pod's containers", () => {
  test.each<[string, string, Statuses, string]>([
    ["of which nothing is known", "Always", {}, "Pending"],
    ["of which one is unknown", "Always", { a: runs }, "Pending"],
    ["of which one has no state", "Always", { a: runs, b: {} }, "Pending"],
    ["that all run", "Always", { a: runs, b: runs }, "Running"],
    ["of which one has not started yet", "Always", { a: runs, b: waits }, "Pending"],
    ["of which one has ended well and one has not started yet", "Never", { a: ended(0), b: waits }, "Pending"],
    ["of which one has ended", "Never", { a: runs, b: ended(1) }, "Running"],
    ["of which one runs again", "Always", { a: runsAfter(1), b: runs }, "Running"],
    ["of which one waits to run again", "Always", { a: waitsAfter(1), b: runs }, "Running"],
    ["that all wait to run again", "Always", { a: waitsAfter(1), b: waitsAfter(0) }, "Running"],
    ["that have all ended and run again", "Always", { a: ended(0), b: ended(0) }, "Running"],
    ["that have all ended well for good", "Never", { a: ended(0), b: ended(0) }, "Succeeded"],
    ["of which one has failed for good", "Never", { a: ended(0), b: ended(1) }, "Failed"],
    ["of which one has failed and runs again", "OnFailure", { a: ended(0), b: ended(1) }, "Running"],
    ["of which one has failed and waits to run again", "OnFailure", { a: ended(0), b: waitsAfter(1) }, "Running"],
    ["that have all ended well and need not run again", "OnFailure", { a: ended(0), b: ended(0) }, "Succeeded"],
    ["of which one waits for good after it ended well", "OnFailure", { a: ended(0), b: waitsAfter(0) }, "Failed"],
  ])("%s, with restart policy %s", (_what, restartPolicy, statuses, phase) => {
    expect(phaseOf({ restartPolicy }, statuses)).toBe(phase);
  });

  test("is Pending where there are none", () => {
    expect(phaseOf({ containers: [] }, {})).toBe("Pending");
    expect(computePhase({}, new Map(), false)).toBe("Pending");
  });
});

describe("the phase of a pod with init containers", () => {
  const init = { initContainers: [{ name: "i" }, { name: "j" }] };
  test.each<[string, string, Statuses, string]>([
    ["is Pending before the first has started", "Never", { i: waits, j: waits }, "Pending"],
    ["is Pending while one runs", "Never", { i: runs, j: waits }, "Pending"],
    ["is Pending while one of them is unknown, whatever the others do", "Never", { j: ended(0), a: runs, b: runs }, "Pending"],
    ["is Pending while the last of them runs", "Never", { i: ended(0), j: runs, a: runs, b: runs }, "Pending"],
    ["is Failed when one failed for good", "Never", { i: ended(1), j: waits }, "Failed"],
    ["is Pending when one failed and runs again", "OnFailure", { i: ended(1), j: waits }, "Pending"],
    ["is that of the containers when all are through", "Never", { i: ended(0), j: ended(0), a: runs, b: runs }, "Running"],
    ["is Failed when one failed for good before its last wait", "Never", { i: waitsAfter(1), j: waits }, "Failed"],
  ])("%s: restart policy %s", (_what, restartPolicy, statuses, phase) => {
    expect(phaseOf({ ...init, restartPolicy }, statuses)).toBe(phase);
  });
});

describe("the phase of a pod with a sidecar", () => {
  const side: Container = { name: "s", restartPolicy: "Always" };
  const isUp = { ...runs, started: true };
  test.each<[string, Statuses, string]>([
    ["is Pending while nothing is known of the sidecar", { a: runs, b: runs }, "Pending"],
    ["is Pending while the sidecar has no state", { s: {}, a: runs, b: runs }, "Pending"],
    ["is Pending while the sidecar waits for its first start", { s: waits, a: runs, b: runs }, "Pending"],
    ["is Pending while the sidecar is not up and no container has started", { s: runs, a: waits, b: waits }, "Pending"],
    ["is Running when the sidecar is up, and the containers run", { s: isUp, a: runs, b: runs }, "Running"],
    ["is Running when a sidecar is not up any more, and the containers run", { s: runs, a: runs, b: runs }, "Running"],
    ["is Running while a sidecar waits to run again", { s: waitsAfter(1), a: runs, b: runs }, "Running"],
    ["is Running while a sidecar runs whose containers have ended", { s: isUp, a: ended(0), b: ended(0) }, "Running"],
    ["is Running when a sidecar is not up any more and the containers have ended", { s: runs, a: ended(0), b: ended(0) }, "Running"],
    ["is Succeeded when the sidecar has ended, however, and the containers well", { s: ended(1), a: ended(0), b: ended(0) }, "Succeeded"],
  ])("%s", (_what, statuses, phase) => {
    expect(phaseOf({ initContainers: [side], restartPolicy: "Never" }, statuses)).toBe(phase);
  });

  test("does not count a sidecar that failed as an init container that did", () => {
    expect(phaseOf({ initContainers: [side, { name: "i" }], restartPolicy: "Never" }, { s: ended(1), i: runs })).toBe("Pending");
  });

  test("is Pending while the sidecar is up and an init container is not through", () => {
    expect(phaseOf({ initContainers: [side, { name: "i" }] }, { s: isUp, i: waits, a: waits, b: waits })).toBe("Pending");
  });

  test("is Pending while the sidecar is not up, and the only container's state is one of none", () => {
    expect(phaseOf({ initContainers: [side], containers: [] }, { s: runs })).toBe("Pending");
    expect(phaseOf({ initContainers: [side], containers: [] }, { s: isUp })).toBe("Running");
  });
});

describe("the phase of a pod that is being deleted", () => {
  test.each<[string, Statuses, string]>([
    ["ends with its containers, though they would run again otherwise", { a: ended(0), b: ended(0) }, "Succeeded"],
    ["is Failed where one of them failed", { a: ended(0), b: ended(1) }, "Failed"],
    ["does not end while one waits for its next start, and may yet start", { a: ended(0), b: waitsAfter(1) }, "Running"],
    ["does not end while one runs", { a: ended(0), b: runs }, "Running"],
  ])("%s", (_what, statuses, phase) => {
    expect(phaseOf({ restartPolicy: "Always" }, statuses, true)).toBe(phase);
  });
});

test("two phases are final", () => {
  expect(["Pending", "Running", "Succeeded", "Failed", "Unknown", undefined].filter(isTerminalPhase)).toEqual(["Succeeded", "Failed"]);
});
