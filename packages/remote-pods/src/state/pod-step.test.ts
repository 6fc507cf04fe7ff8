import { describe, expect, test } from "vitest";
import type { Observation, PodIdentity } from "../backend/observation.ts";
import type { KnownObject, PodState } from "./pod-state.ts";
import { podStep, type PodEvent, type StepContext } from "./pod-step.ts";

type State = PodState<string, undefined>;
type Event = PodEvent<string, undefined>;

const identity = (attempt = 0): PodIdentity => ({
  ref: { namespace: "default", name: "web", uid: "uid-1" },
  owner: { clusterId: "c", nodeName: "n" },
  attempt,
});

const observed = (progress: Observation["progress"], needsNewObject = false): Observation => ({
  progress,
  needsNewObject,
  memory: undefined,
  status: { phase: "Running", containerStatuses: [{ name: "main", image: "i", imageID: "", ready: false, restartCount: 0 }] },
});

const object = (over: Partial<KnownObject<string, undefined>> = {}): KnownObject<string, undefined> => ({
  id: "a",
  identity: identity(),
  sinceMs: 0,
  isVisible: true,
  createdAt: undefined,
  remote: "r",
  observation: observed("running"),
  earlier: new Map(),
  ...over,
});

const fresh = { sinceMs: 0, isAsked: false, killedAtMs: undefined, isDeleted: false };
const deleting = (over: object = {}, of: KnownObject<string, undefined> | undefined = object()): Extract<State, { kind: "deleting" }> => ({
  kind: "deleting",
  identity: identity(),
  object: of,
  deletion: { deadlineMs: 30_000, ...fresh, ...over },
});
const ended = object({ observation: observed("ended") });
const toRunAgain = object({ observation: observed("ended", true) });
const young = object({ sinceMs: 90_001 });
const created = object({ sinceMs: 90_001, isVisible: false });
const seen = (of: KnownObject<string, undefined> = object()): Event => ({ kind: "seen", object: of });
const absent = (id?: string): Event => ({ kind: "absent", id });

const step = (state: State | undefined, event: Event, nowMs = 100_000, limits: Partial<StepContext["limits"]> = {}): State | undefined =>
  podStep(state, event, { nowMs, limits: { visibleAfterMs: 10_000, ...limits } });

const creating: State = { kind: "creating", identity: identity(), sinceMs: 0 };
const unclear: State = { kind: "unclear", identity: identity(), sinceMs: 0 };
const present: State = { kind: "present", object: object() };
const missing: State = { kind: "missing", object: object(), sinceMs: 99_000 };
const gone: State = { kind: "gone", identity: identity(), sinceMs: 0 };
const final: State = { kind: "ended", object: ended, isForgotten: false };
const waiting: State = { kind: "waiting", object: toRunAgain, atMs: 110_000 };

describe("creates", () => {
  test.each<[string, State | undefined, Event, State | undefined]>([
    ["a create of an unknown pod is outstanding", undefined, { kind: "create", identity: identity() }, { ...creating, sinceMs: 100_000 }],
    [
      "the next object replaces the one that has ended",
      waiting,
      { kind: "create", identity: identity(1) },
      { kind: "creating", identity: identity(1), sinceMs: 100_000, before: toRunAgain },
    ],
    [
      "a repeated create keeps the earlier object",
      { ...unclear, before: toRunAgain },
      { kind: "create", identity: identity(1) },
      { kind: "creating", identity: identity(1), sinceMs: 100_000, before: toRunAgain },
    ],
    [
      "a pod that was lost is created again",
      gone,
      { kind: "create", identity: identity(1) },
      { kind: "creating", identity: identity(1), sinceMs: 100_000 },
    ],
    ["a present pod is not created again", present, { kind: "create", identity: identity(1) }, present],
    ["a refused create leaves nothing", creating, { kind: "refused" }, undefined],
    [
      "a refused next create waits, with the earlier end",
      { ...creating, before: toRunAgain },
      { kind: "refused" },
      { kind: "waiting", object: toRunAgain, atMs: 400_000 },
    ],
    [
      "a refused next create waits for as long as the refusal tells",
      { ...creating, before: toRunAgain },
      { kind: "refused", retryAfterMs: 60_000 },
      { kind: "waiting", object: toRunAgain, atMs: 160_000 },
    ],
    ["a refusal does not touch a deletion", deleting(), { kind: "refused" }, deleting()],
    ["a lost answer makes the create unclear", creating, { kind: "unclear" }, { ...unclear, sinceMs: 100_000 }],
    ["a lost answer about an object that was seen meanwhile changes nothing", present, { kind: "unclear" }, present],
    ["an outstanding create is not settled by a list", creating, absent(), creating],
    ["an unclear create that never appears leaves nothing", unclear, absent(), undefined],
    [
      "an unclear next create that never appears is due again",
      { ...unclear, before: toRunAgain },
      absent(),
      { kind: "waiting", object: toRunAgain, atMs: 100_000 },
    ],
    ["an unclear create may still be invisible", { ...unclear, sinceMs: 90_001 }, absent(), { ...unclear, sinceMs: 90_001 }],
    ["an unclear create that appears is the pod's", unclear, seen(), present],
  ])("%s", (_sentence, state, event, expected) => {
    expect(step(state, event)).toEqual(expected);
  });
});

describe("looks", () => {
  test.each<[string, State | undefined, Event, State | undefined]>([
    ["an object of an unknown pod is present", undefined, seen(), present],
    ["an ended object ends its pod", present, seen(ended), final],
    ["an end is final, whatever a later answer says", final, seen(), final],
    ["a look that tells nothing keeps what is known", present, seen(object({ remote: undefined, observation: undefined })), present],
    [
      "an earlier object does not replace the latest",
      { kind: "present", object: object({ id: "b", identity: identity(1) }) },
      seen(),
      { kind: "present", object: object({ id: "b", identity: identity(1) }) },
    ],
    [
      "a later object replaces an ended one",
      final,
      seen(object({ id: "b", identity: identity(1) })),
      { kind: "present", object: object({ id: "b", identity: identity(1) }) },
    ],
    ["a first absence is doubtful", present, absent("a"), { ...missing, sinceMs: 100_000 }],
    ["a list alone does not make a pod missing", present, absent(), present],
    ["the absence of another object means nothing", present, absent("b"), present],
    [
      "a young object that no read has shown may be invisible",
      { kind: "present", object: created },
      absent("a"),
      { kind: "present", object: created },
    ],
    [
      "a young object that a read has shown is missing",
      { kind: "present", object: young },
      absent("a"),
      { kind: "missing", object: young, sinceMs: 100_000 },
    ],
    [
      "the absence of a young object is doubtful for 9 s",
      { kind: "missing", object: young, sinceMs: 91_000 },
      absent("a"),
      { kind: "missing", object: young, sinceMs: 91_000 },
    ],
    ["and certain after 10 s", { kind: "missing", object: young, sinceMs: 90_000 }, absent("a"), { ...gone, sinceMs: 100_000 }],
    [
      "a created object that a read shows is visible",
      { kind: "present", object: created },
      seen(young),
      { kind: "present", object: young },
    ],
    [
      "and stays so when its create is answered again",
      { kind: "present", object: young },
      seen(created),
      { kind: "present", object: young },
    ],
    ["a second absence a second later is certain", missing, absent("a"), { ...gone, sinceMs: 100_000 }],
    ["a second absence at once is not", { ...missing, sinceMs: 99_001 }, absent("a"), { ...missing, sinceMs: 99_001 }],
    ["a missing object that is seen again is present", missing, seen(), present],
    ["an ended object that the back end forgets stays ended", final, absent("a"), { ...final, isForgotten: true }],
    ["a pod between two objects does not mind the absence of the first", waiting, absent("a"), waiting],
  ])("%s", (_sentence, state, event, expected) => {
    expect(step(state, event)).toEqual(expected);
  });

  test.each([
    [0, 0, 10_000],
    [1, 0, 20_000],
    [4, 0, 160_000],
    [5, 0, 300_000],
    [2_000, 0, 300_000],
    [5, -500_000, 10_000],
  ])("the next object after attempt %i that ran since %i ms comes after a back-off of %i ms", (attempt, sinceMs, expected) => {
    const of = object({ identity: identity(attempt), sinceMs });

    const after = step({ kind: "present", object: of }, seen({ ...of, observation: observed("ended", true) }));

    expect(after).toMatchObject({ kind: "waiting", atMs: 100_000 + expected });
  });

  test("the next object continues the count of restarts", () => {
    const after = step({ ...unclear, identity: identity(1), before: toRunAgain }, seen(object({ id: "b", identity: identity(1) })));

    expect(after).toMatchObject({
      kind: "present",
      object: { id: "b", earlier: new Map([["main", { restarts: 1, lastState: undefined }]]) },
    });
  });
});

describe("deletions", () => {
  const keeps = { keepsEndedMs: 3_600_000 };
  const remove: Event = { kind: "delete", deadlineMs: 130_000 };
  const begun = { deadlineMs: 130_000, ...fresh, sinceMs: 100_000 };
  test.each<[string, State | undefined, Event, State | undefined, Partial<StepContext["limits"]>?]>([
    ["an unknown pod has nothing to delete", undefined, remove, undefined],
    ["a deletion begins with its grace", present, remove, deleting(begun)],
    [
      "a deletion of an unclear create waits for the object",
      unclear,
      remove,
      { kind: "deleting", identity: identity(), object: undefined, deletion: begun },
    ],
    ["a second deletion shortens the grace", deleting({ deadlineMs: 200_000 }), remove, deleting({ deadlineMs: 130_000 })],
    ["a second deletion never lengthens it", deleting({ deadlineMs: 110_000 }), remove, deleting({ deadlineMs: 110_000 })],
    ["an ended object is deleted", final, remove, deleting(begun, ended)],
    [
      "an ended object that the back end removes by itself needs no deletion",
      final,
      remove,
      { ...gone, sinceMs: 100_000, keptId: "a" },
      keeps,
    ],
    ["a forgotten object needs no deletion", { ...final, isForgotten: true }, remove, { ...gone, sinceMs: 100_000, keptId: undefined }],
    [
      "containers that end finish the deletion where the back end removes by itself",
      deleting(),
      seen(ended),
      { ...gone, sinceMs: 100_000, keptId: "a" },
      keeps,
    ],
    ["containers that end do not finish the deletion where the object must be deleted", deleting(), seen(ended), deleting({}, ended)],
    ["an ended object that is still listed does not revive a deleted pod", { ...gone, keptId: "a" }, seen(ended), { ...gone, keptId: "a" }],
    ["an object that appears late is deleted without grace", gone, seen(), deleting({ deadlineMs: 100_000, sinceMs: 100_000 })],
    [
      "another object has not been asked to end yet",
      deleting({ isAsked: true, isDeleted: true, killedAtMs: 5 }),
      seen(object({ id: "b", identity: identity(1) })),
      { ...deleting({}, object({ id: "b", identity: identity(1) })), identity: identity(1), deletion: { deadlineMs: 30_000, ...fresh } },
    ],
    ["the late object of an unclear create is ended like any other", { ...deleting(), object: undefined }, seen(), deleting()],
    ["an absent object ends the deletion", deleting(), absent("a"), { ...gone, sinceMs: 100_000 }],
    [
      "a young object that is absent may only be invisible",
      deleting({}, object({ sinceMs: 95_000 })),
      absent("a"),
      deleting({}, object({ sinceMs: 95_000 })),
    ],
    [
      "a young object whose deletion was accepted is gone",
      deleting({ isDeleted: true }, object({ sinceMs: 95_000 })),
      absent("a"),
      { ...gone, sinceMs: 100_000 },
    ],
    ["a list does not end the deletion of a known object", deleting(), absent(), deleting()],
    ["asking is remembered", deleting(), { kind: "stepped", step: "asked" }, deleting({ isAsked: true })],
    [
      "a kill is remembered with its time",
      deleting(),
      { kind: "stepped", step: "killed" },
      deleting({ isAsked: true, killedAtMs: 100_000 }),
    ],
    [
      "an accepted deletion is remembered",
      deleting(),
      { kind: "stepped", step: "deleted" },
      deleting({ isAsked: true, isDeleted: true, deletedAtMs: 100_000 }),
    ],
    ["waiting changes nothing", deleting({ isAsked: true }), { kind: "stepped", step: "wait" }, deleting({ isAsked: true })],
    ["an incomplete object that was removed leaves nothing", present, { kind: "discarded", id: "a" }, undefined],
    [
      "a pod whose next object was incomplete and was removed waits for another one, with the earlier end",
      { kind: "present", object: object({ before: toRunAgain }) },
      { kind: "discarded", id: "a" },
      { kind: "waiting", object: toRunAgain, atMs: 100_000 },
    ],
    ["the removal of another object changes nothing", present, { kind: "discarded", id: "b" }, present],
  ])("%s", (_sentence, state, event, expected, limits) => {
    expect(step(state, event, 100_000, limits)).toEqual(expected);
  });
});
