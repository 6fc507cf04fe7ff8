import { expect, test } from "vitest";
import type { ContainerRecord } from "../pod/container-life.ts";
import type { PodStage, PodState } from "../pod/pod-state.ts";
import type { RuntimeContainer, RuntimeContainerState, RuntimeInventory, RuntimeSandbox } from "../runtime/container-runtime.ts";
import { containerLabels, podLabels } from "../runtime/labels.ts";
import { PodRig, podWith } from "../test-support/pod-rig.ts";
import { leftovers } from "./leftovers.ts";

const ref = { namespace: "default", name: "web", uid: "u1" };
const owner = { clusterId: "c", nodeName: "n" };
const exited: RuntimeContainerState = { kind: "exited", exitCode: 1, startedAtMs: 1, finishedAtMs: 2 };
const running: RuntimeContainerState = { kind: "running", startedAtMs: 1 };
const up: PodStage = { kind: "up", sandboxId: "s1", ips: [] };

function sandbox(id: string, attempt: number | undefined, isReady = false): RuntimeSandbox {
  return { id, labels: attempt === undefined ? {} : podLabels(ref, owner, attempt), isReady, ips: [], createdAtMs: 0 };
}

/** A container `app` of an attempt. */
function container(id: string, attempt: number, { sandboxId = "s1", state = exited, name = "app" } = {}): RuntimeContainer {
  const labels = containerLabels(ref, owner, { container: name, attempt, specHash: "h" });
  return { id, sandboxId, labels, image: "app:1", imageId: "i", state };
}

/** State of a pod whose container `app` has this record, in a stage. The attempt of its newest sandbox is 1. */
function stateOf(record: Partial<ContainerRecord>, stage: PodStage = up): PodState {
  const { state } = new PodRig(podWith({}));
  const app: ContainerRecord = { life: { kind: "idle" }, attempt: 5, isInitialized: false, ...record };
  return { ...state, stage, sandboxAttempt: 1, containers: new Map([["app", app]]) };
}

const end = (id: string): NonNullable<ContainerRecord["lastTermination"]> => ({ exitCode: 1, reason: "Error", finishedAtMs: 2, id });

/** Removed objects in short form: `removeContainer c1`. */
function left(state: PodState, held: Partial<RuntimeInventory>): readonly string[] {
  return leftovers(state, { sandboxes: [], containers: [], ...held }).map((effect) => {
    const id = "sandboxId" in effect ? effect.sandboxId : "id" in effect ? effect.id : "";
    return `${effect.kind} ${id}`;
  });
}

test("of a container's attempts the running one and the last two ended ones stay", () => {
  const life: ContainerRecord["life"] = { kind: "running", instance: { id: "c5", startedAtMs: 1 }, isStarted: true, isReady: true };
  const state = stateOf({ life, lastTermination: end("c4"), previousTermination: end("c3") });
  const containers = [2, 3, 4, 5].map((attempt) => container(`c${attempt}`, attempt, { state: attempt === 5 ? running : exited }));

  expect(left(state, { sandboxes: [sandbox("s1", 1, true)], containers })).toEqual(["removeContainer c2"]);
});

test("the newest attempt stays, even if its end is unknown", () => {
  expect(left(stateOf({}), { sandboxes: [sandbox("s1", 1, true)], containers: [container("c5", 5), container("c6", 6)] })).toEqual([]);
});

test("a container that the pod does not name, or without a pod's labels, stays", () => {
  const containers = [container("c1", 1, { name: "other" }), { ...container("c2", 1), labels: {} }];

  expect(left(stateOf({}), { sandboxes: [sandbox("s1", 1, true)], containers })).toEqual([]);
});

test("an earlier sandbox is removed with its containers", () => {
  const held = { sandboxes: [sandbox("s0", 0), sandbox("s1", 1, true)], containers: [container("c1", 1, { sandboxId: "s0" })] };

  expect(left(stateOf({}), held)).toEqual(["removeSandbox s0"]);
});

test("an earlier sandbox stays while the logs of one of its containers are kept", () => {
  const containers = [container("c4", 4, { sandboxId: "s0" }), container("c3", 3, { sandboxId: "s0" })];
  const held = { sandboxes: [sandbox("s0", 0), sandbox("s1", 1, true)], containers };

  expect(left(stateOf({ lastTermination: end("c4") }), held)).toEqual(["removeContainer c3"]);
});

test("an earlier sandbox that stays is stopped if a container still runs in it", () => {
  const containers = [container("c4", 4, { sandboxId: "s0", state: running })];
  const held = { sandboxes: [sandbox("s0", 0), sandbox("s1", 1, true)], containers };

  expect(left(stateOf({ lastTermination: end("c4") }), held)).toEqual(["stopSandbox s0"]);
});

test("kept logs in the current sandbox do not keep earlier sandboxes", () => {
  const containers = [container("c4", 4)];
  const held = { sandboxes: [sandbox("s0", 0), sandbox("s1", 1, true)], containers };

  expect(left(stateOf({ lastTermination: end("c4") }), held)).toEqual(["removeSandbox s0"]);
});

test("a container that counts as ended, but runs without a sandbox, is removed", () => {
  for (const ends of [{ lastTermination: end("c5") }, { previousTermination: end("c5") }]) {
    const containers = [container("c5", 5, { sandboxId: "gone", state: running })];
    expect(left(stateOf(ends), { sandboxes: [sandbox("s1", 1, true)], containers })).toEqual(["removeContainer c5"]);
  }
});

test("a container without a sandbox stays if it does not count as ended, or does not run", () => {
  const sandboxes = [sandbox("s1", 1, true)];
  const homeless = { sandboxId: "gone" };

  expect(left(stateOf({}), { sandboxes, containers: [container("c5", 5, { ...homeless, state: running })] })).toEqual([]);
  expect(left(stateOf({ lastTermination: end("c5") }), { sandboxes, containers: [container("c5", 5, homeless)] })).toEqual([]);
});

test("a container that counts as ended, but runs in its pod's sandbox, is left for an inspection", () => {
  const held = { sandboxes: [sandbox("s1", 1, true)], containers: [container("c5", 5, { state: running })] };

  expect(left(stateOf({ lastTermination: end("c5") }), held)).toEqual([]);
});

test("while a sandbox is up all others are removed, whatever their attempt and state", () => {
  const sandboxes = [sandbox("s1", 1, true), sandbox("s2", 2, true), sandbox("s0", 0)];

  expect(left(stateOf({}), { sandboxes })).toEqual(["removeSandbox s2", "removeSandbox s0"]);
});

test("while no sandbox is up the newest one and ready ones stay", () => {
  const sandboxes = [sandbox("s0", 0), sandbox("s1", 1), sandbox("ready", 0, true)];

  expect(left(stateOf({}, { kind: "finished" }), { sandboxes })).toEqual(["removeSandbox s0"]);
});

test("a sandbox that is being stopped stays", () => {
  const state = stateOf({}, { kind: "stoppingSandbox", sandboxId: "s0" });

  expect(left(state, { sandboxes: [sandbox("s0", 0)] })).toEqual([]);
});

test("a sandbox without an attempt stays", () => {
  expect(left(stateOf({}), { sandboxes: [sandbox("s9", undefined)] })).toEqual([]);
});
