import { expect, test } from "vitest";
import type { KnownObject, PodState } from "./pod-state.ts";
import { previousObjectOf } from "./previous-object.ts";

const identity = { ref: { namespace: "default", name: "web", uid: "uid-1" }, owner: { clusterId: "c", nodeName: "n" }, attempt: 1 };

function object(id: string, over: { restartCount?: number; before?: KnownObject<string, undefined> } = {}): KnownObject<string, undefined> {
  const { restartCount = 0, before } = over;
  const status = { phase: "Running", containerStatuses: [{ name: "main", image: "app", imageID: "", ready: true, restartCount }] };
  const observation = { progress: "running", status, createdAt: undefined, memory: undefined } as const;
  return { id, identity, sinceMs: 0, isVisible: true, createdAt: undefined, remote: id, observation, earlier: new Map(), before };
}

const first = object("first");
const second = object("second", { before: first });
const deletion = { deadlineMs: 1, sinceMs: 0, isAsked: true, killedAtMs: undefined, isDeleted: false };

test.for<[string, PodState<string, undefined> | undefined, string | undefined]>([
  ["a pod that is not known", undefined, undefined],
  ["a pod that is gone", { kind: "gone", identity, sinceMs: 0 }, undefined],
  ["the first run", { kind: "present", object: first }, undefined],
  ["the second run", { kind: "present", object: second }, "first"],
  ["a run whose object is missing", { kind: "missing", object: second, sinceMs: 0 }, "first"],
  ["the last run of a pod that has ended", { kind: "ended", object: second, isForgotten: true }, "first"],
  ["a pod that is being deleted", { kind: "deleting", identity, object: second, deletion }, "first"],
  ["a pod that waits for its next object", { kind: "waiting", object: second, atMs: 1 }, "second"],
  ["a pod whose next object is being created", { kind: "creating", identity, sinceMs: 0, before: second }, "second"],
  ["a pod whose next object may exist", { kind: "unclear", identity, sinceMs: 0, before: second }, "second"],
  [
    "a container that the back end has started again",
    { kind: "present", object: object("own", { restartCount: 1, before: first }) },
    undefined,
  ],
])("%s", ([, state, expected]) => {
  expect(previousObjectOf(state, "main")?.id).toBe(expected);
});
