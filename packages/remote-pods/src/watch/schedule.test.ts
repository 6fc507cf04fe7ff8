import { describe, expect, test } from "vitest";
import type { Progress, PodIdentity } from "../backend/observation.ts";
import type { KnownObject, PodState } from "../state/pod-state.ts";
import { isChanging, lookIntervals, nextPauseMs } from "./schedule.ts";

type State = PodState<string, undefined>;

const identity: PodIdentity = {
  ref: { namespace: "default", name: "web", uid: "uid-1" },
  owner: { clusterId: "c", nodeName: "n" },
  attempt: 0,
};
const deletion = { deadlineMs: 0, sinceMs: 0, isAsked: false, killedAtMs: undefined, isDeleted: false };

function object(progress?: Progress): KnownObject<string, undefined> {
  const observation = progress && { progress, status: { phase: "Running" }, memory: undefined };
  return { id: "a", identity, sinceMs: 0, isVisible: true, createdAt: undefined, remote: undefined, observation, earlier: new Map() };
}

const present = (progress?: Progress): State => ({ kind: "present", object: object(progress) });

describe("intervals", () => {
  const limits = { rates: {}, describeBatch: 1 };
  test.for<[string, Parameters<typeof lookIntervals>, ReturnType<typeof lookIntervals>]>([
    ["without a rate follow the configured one", [5_000, 1_000, limits], { firstMs: 1_000, changingMs: 10_000, stableMs: 60_000 }],
    ["are never longer at first than the configured one", [200, 1, limits], { firstMs: 200, changingMs: 400, stableMs: 2_400 }],
    [
      "spend 35 % of the slowest read rate on objects that do not change",
      [
        5_000,
        700,
        {
          ...limits,
          rates: {
            read: [
              { burst: 9, perSecond: 20 },
              { burst: 1, perSecond: 2 },
            ],
          },
        },
      ],
      { firstMs: 1_000, changingMs: 500_000, stableMs: 1_000_000 },
    ],
    [
      "are shorter where one call describes many objects",
      [5_000, 700, { describeBatch: 10, rates: { read: [{ burst: 1, perSecond: 2 }] } }],
      { firstMs: 1_000, changingMs: 50_000, stableMs: 100_000 },
    ],
    [
      "do not depend on the rates of other classes",
      [5_000, 700, { ...limits, rates: { write: [{ burst: 1, perSecond: 0.1 }] } }],
      { firstMs: 1_000, changingMs: 10_000, stableMs: 60_000 },
    ],
    [
      "are none for unchanged objects where lists show each change",
      [5_000, 10, { ...limits, listShowsChanges: true }],
      { firstMs: 1_000, changingMs: 10_000, stableMs: undefined },
    ],
  ])("%s", ([, [pollMs, objects, given], intervals]) => {
    const { stableMs, ...others } = lookIntervals(pollMs, objects, given);
    expect({ ...others, stableMs: stableMs && Math.round(stableMs), changingMs: Math.round(others.changingMs) }).toEqual(intervals);
  });
});

const intervals = { firstMs: 1_000, changingMs: 10_000, stableMs: 60_000 };
const everyState: readonly [string, State, "none" | "growing" | "stable", boolean][] = [
  ["a create under way", { kind: "creating", identity, sinceMs: 0 }, "none", true],
  ["a create whose answer was lost", { kind: "unclear", identity, sinceMs: 0 }, "growing", true],
  ["an object that was never described", present(), "growing", true],
  ["an object that starts", present("starting"), "growing", true],
  ["an object that runs", present("running"), "stable", false],
  ["an object that is about to end", present("ending"), "growing", true],
  ["an object that may be missing", { kind: "missing", object: object("running"), sinceMs: 0 }, "growing", true],
  ["a pod between two objects", { kind: "waiting", object: object("ended"), atMs: 0 }, "none", false],
  ["a pod that has ended", { kind: "ended", object: object("ended"), isForgotten: false }, "none", false],
  ["a pod that is being deleted", { kind: "deleting", identity, object: object("running"), deletion }, "growing", true],
  ["a pod that is gone", { kind: "gone", identity, sinceMs: 0 }, "none", false],
];

test.for(everyState)("the next look at %s", ([, state, pace]) => {
  const pauses = [undefined, 1_000, 4_000, 9_000, 60_000].map((before) => nextPauseMs(state, before, intervals));

  expect(pauses).toEqual(
    {
      none: [undefined, undefined, undefined, undefined, undefined],
      growing: [1_000, 1_500, 6_000, 10_000, 10_000],
      stable: [60_000, 60_000, 60_000, 60_000, 60_000],
    }[pace],
  );
});

test("an object that runs needs no look where lists show each change", () => {
  expect(nextPauseMs(present("running"), undefined, { ...intervals, stableMs: undefined })).toBeUndefined();
});

test.for(everyState)("whether the list is read often because of %s", ([, state, , isOften]) => {
  expect(isChanging(state)).toBe(isOften);
});
