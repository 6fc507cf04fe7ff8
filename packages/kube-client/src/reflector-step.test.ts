import { DeadlineExceededError, UnavailableError } from "@virtual-kubelet/errdefs";
import { describe, expect, test } from "vitest";
import { apiError } from "./api-error.ts";
import { DecodeError } from "./decode-error.ts";
import type { Pod } from "./objects.ts";
import { failureOf, initialReflectorState, type ReflectorInput, type ReflectorPhase, type ReflectorState } from "./reflector-state.ts";
import { step, type StepResult } from "./reflector-step.ts";

const gone = refusal(410, { reason: "Expired" });
const ahead = refusal(504, { details: { retryAfterSeconds: 1, causes: [{ reason: "ResourceVersionTooLarge" }] } });
const refused = refusal(422);
const busy = refusal(429, { details: { retryAfterSeconds: 7 } });
const broken = new UnavailableError("connection reset");
const unreadable = new DecodeError("not JSON");
const overdue = new DeadlineExceededError("silent");

const starting: ReflectorPhase = { kind: "starting" };
const streaming: ReflectorPhase = { kind: "streaming" };
const firstPage: ReflectorPhase = { kind: "listing", continue: undefined, paged: true };
const thirdPage: ReflectorPhase = { kind: "listing", continue: "page-3", paged: true };
const listed: ReflectorPhase = { kind: "listed", resourceVersion: "7" };
const silent: ReflectorPhase = { kind: "watching", resourceVersion: "7", silent: true };
const watching: ReflectorPhase = { kind: "watching", resourceVersion: "7", silent: false };

describe("a failure leads, after a wait,", () => {
  test.each<[string, ReflectorPhase, Error, ReflectorPhase]>([
    ["from a list that could not be begun to another try", starting, broken, starting],
    ["from an overloaded server's first answer to another try", starting, busy, starting],
    ["from a streamed list cut off to another one", streaming, broken, starting],
    ["from a streamed list without its bookmark to another one", streaming, overdue, starting],
    ["from a page that did not come to the same page", thirdPage, broken, thirdPage],
    ["from a page whose version has expired to all in one answer", thirdPage, gone, { kind: "listing", continue: undefined, paged: false }],
    ["from a page whose token is refused to the first page", thirdPage, refusal(400), firstPage],
    ["from an unreadable page to the first page", thirdPage, unreadable, firstPage],
    ["from a watch that could not be opened to another one from there", listed, broken, listed],
    ["from an overloaded server's refusal to a watch from there", listed, busy, listed],
    ["from refused credentials to a watch from there", listed, refusal(401), listed],
    ["from a missing permission to a watch from there", listed, refusal(403), listed],
    ["from a version too old to a new list", listed, gone, starting],
    ["from a version the server has not seen to a new list", listed, ahead, starting],
    ["from a watch that is refused to a new list", listed, refused, starting],
    ["from a broken watch to one from there", watching, broken, listed],
    ["from a silent watch to one from there", watching, overdue, listed],
    ["from a bad line to a watch from there", watching, unreadable, listed],
    ["from a watch whose version is too old to a new list", watching, gone, starting],
  ])("%s", (_, phase, error, next) => {
    const { state } = run(phase, { kind: "failed", failure: failureOf(error) });

    expect(state.phase).toMatchObject({ kind: "waiting", next, failure: { error } });
  });
});

describe("an ERROR event", () => {
  test.each([
    [410, starting],
    [500, listed],
    [429, listed],
  ])("with code %i is what the same answer would be", (code, next) => {
    const { state, effects } = run(watching, { kind: "event", event: { type: "ERROR", object: { code, message: "no" } } });

    expect(state.phase).toMatchObject({ kind: "waiting", next });
    expect(effects.some((effect) => effect.kind === "apply")).toBe(false);
  });
});

describe("a list", () => {
  test("is streamed first: what comes is collected, and put in the store at the bookmark", () => {
    const opened = run(starting, { kind: "opened" });
    expect(opened).toMatchObject({ state: { phase: streaming }, effects: [{ kind: "clear" }] });

    const object = pod("3");
    expect(step(opened.state, event("ADDED", object), context()).effects).toEqual([{ kind: "collect", type: "put", objects: [object] }]);
    expect(step(opened.state, event("DELETED", object), context()).effects).toEqual([
      { kind: "collect", type: "remove", objects: [object] },
    ]);
    expect(step(opened.state, event("BOOKMARK", pod("4")), context())).toEqual({ state: opened.state, effects: [] });
    expect(step(opened.state, event("BOOKMARK", endOfInitialEvents("9")), context())).toMatchObject({
      state: { phase: { kind: "watching", resourceVersion: "9" } },
      effects: [{ kind: "replace", list: "streamed" }],
    });
  });

  test("is paged at once where the server refuses to stream, and ever after", () => {
    const { state } = run(starting, { kind: "failed", failure: failureOf(refused) });
    expect(state.phase).toEqual(firstPage);

    const watched: ReflectorState = { phase: watching, memory: state.memory };
    expect(step(watched, { kind: "failed", failure: failureOf(gone) }, context()).state.phase).toMatchObject({ next: firstPage });
  });

  test("is paged after the third stream without an end", () => {
    let state: ReflectorState = initialReflectorState;
    for (let round = 1; round <= 3; round++) {
      expect(state.phase).toEqual(starting);
      state = step<Pod>(state, { kind: "opened" }, context()).state;
      state = step<Pod>(state, { kind: "failed", failure: failureOf(overdue) }, context()).state;
      state = step<Pod>(state, { kind: "waited" }, context()).state;
    }

    expect(state.phase).toEqual(firstPage);
  });

  test("that could not be begun, however often, does not count as a stream without an end", () => {
    let state: ReflectorState = initialReflectorState;
    for (let round = 1; round <= 10; round++) {
      state = step<Pod>(state, { kind: "failed", failure: failureOf(broken) }, context()).state;
      state = step<Pod>(state, { kind: "waited" }, context()).state;
    }

    expect(state.phase).toEqual(starting);
  });

  test("of pages is put in the store with the last one", () => {
    const objects = [pod("1")];

    expect(run(firstPage, { kind: "page", objects, resourceVersion: "5", continue: "page-2" })).toMatchObject({
      state: { phase: { kind: "listing", continue: "page-2", paged: true } },
      effects: [{ kind: "collect", type: "put", objects }],
    });
    expect(run(thirdPage, { kind: "page", objects, resourceVersion: "5", continue: undefined })).toMatchObject({
      state: { phase: { kind: "listed", resourceVersion: "5" } },
      effects: [{ kind: "collect" }, { kind: "replace", list: "paged" }],
    });
  });
});

describe("a watch", () => {
  test("moves its version on with every event and bookmark, and applies what is no bookmark", () => {
    expect(run(silent, event("MODIFIED", pod("8")))).toMatchObject({
      state: { phase: { kind: "watching", resourceVersion: "8", silent: false } },
      effects: [{ kind: "apply", type: "put" }],
    });
    expect(run(silent, event("DELETED", pod("8"))).effects).toMatchObject([{ kind: "apply", type: "remove" }]);
    expect(run(silent, event("BOOKMARK", pod("8")))).toEqual({
      state: { phase: { kind: "watching", resourceVersion: "8", silent: false }, memory: initialReflectorState.memory },
      effects: [],
    });
  });

  test("that the server ends is resumed at once, however short it was, if it brought anything", () => {
    expect(run(watching, { kind: "ended", openMs: 5 }).state.phase).toEqual(listed);
    expect(run(silent, { kind: "ended", openMs: 1_000 }).state.phase).toEqual(listed);
  });

  test("that ends within a second and brought nothing backs off", () => {
    expect(run(silent, { kind: "ended", openMs: 999 }).state.phase).toMatchObject({
      kind: "waiting",
      next: listed,
      failure: { kind: "short" },
    });
    const bookmarked = run(silent, event("BOOKMARK", pod("7"))).state;
    expect(step(bookmarked, { kind: "ended", openMs: 5 }, context()).state.phase).toMatchObject({ kind: "waiting" });
  });

  test("that cannot be read from one version three times is given up for a new list", () => {
    let state: ReflectorState = { phase: listed, memory: initialReflectorState.memory };
    const nexts: unknown[] = [];
    for (let round = 1; round <= 3; round++) {
      state = step<Pod>(state, { kind: "opened" }, context()).state;
      state = step<Pod>(state, { kind: "failed", failure: failureOf(unreadable) }, context()).state;
      nexts.push(state.phase.kind === "waiting" && state.phase.next.kind);
      state = step<Pod>(state, { kind: "waited" }, context()).state;
    }

    expect(nexts).toEqual(["listed", "listed", "starting"]);
  });

  test("that brings an event in between starts counting bad lines anew", () => {
    const memory = { ...initialReflectorState.memory, unreadable: 2 };
    const { state } = step({ phase: silent, memory }, event("ADDED", pod("8")), context());

    const { phase } = step<Pod>(state, { kind: "failed", failure: failureOf(unreadable) }, context()).state;
    expect(phase).toMatchObject({ next: { kind: "listed", resourceVersion: "8" } });
  });
});

describe("the wait", () => {
  test("doubles from 0.8 s to 30 s, of which at least half is waited", () => {
    const waits = (chance: number): number[] => waitsOf(8, { chance, everyMs: 1_000 });

    expect(waits(0)).toEqual([400, 800, 1_600, 3_200, 6_400, 12_800, 15_000, 15_000]);
    expect(waits(1).map(Math.round)).toEqual([800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000]);
  });

  test("begins anew after two minutes without a failure", () => {
    expect(waitsOf(3, { chance: 0, everyMs: 120_001 })).toEqual([400, 400, 400]);
    expect(waitsOf(3, { chance: 0, everyMs: 120_000 })).toEqual([400, 800, 1_600]);
  });

  test("is at least what the server asked for, and a minute at most if it asked for more", () => {
    expect(run(watching, { kind: "failed", failure: failureOf(busy) }).state.phase).toMatchObject({ delayMs: 7_000 });
    const long = new UnavailableError("busy", { retryAfterMs: 3_600_000 });
    expect(run(watching, { kind: "failed", failure: failureOf(long) }).state.phase).toMatchObject({ delayMs: 60_000 });
  });
});

function waitsOf(rounds: number, { chance, everyMs }: { chance: number; everyMs: number }): number[] {
  let state: ReflectorState = { phase: listed, memory: initialReflectorState.memory };
  return Array.from({ length: rounds }, (_, round) => {
    const { phase, memory } = step<Pod>(state, { kind: "failed", failure: failureOf(broken) }, context(1 + round * everyMs, chance)).state;
    state = { phase: listed, memory };
    return phase.kind === "waiting" ? phase.delayMs : 0;
  });
}

function run(phase: ReflectorPhase, input: ReflectorInput<Pod>): StepResult<Pod> {
  return step({ phase, memory: initialReflectorState.memory }, input, context());
}

function context(nowMs = 1_000, chance = 0): Parameters<typeof step>[2] {
  return { nowMs, random: { next: () => chance, uuid: () => "" } };
}

function event(type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK", object: Pod): ReflectorInput<Pod> {
  return { kind: "event", event: { type, object } };
}

function pod(resourceVersion: string): Pod {
  return { metadata: { uid: "u1", name: "web", namespace: "default", resourceVersion } };
}

function endOfInitialEvents(resourceVersion: string): Pod {
  return { metadata: { resourceVersion, annotations: { "k8s.io/initial-events-end": "true" } } };
}

function refusal(code: number, status: object = {}): Error {
  return apiError({ operation: "watch pods", code, body: { kind: "Status", ...status } });
}

test("a server that is there again and says that the version is gone is listed without the wait for one that is away", () => {
  const context = { nowMs: 0, random: { next: () => 1, uuid: () => "" } };
  let state: ReflectorState = { ...initialReflectorState, phase: listed };
  for (let failure = 0; failure < 8; failure++) {
    state = step<Pod>(state, { kind: "failed", failure: failureOf(broken) }, context).state;
    state = step<Pod>(state, { kind: "waited" }, context).state;
  }

  const first = step<Pod>(state, { kind: "failed", failure: failureOf(gone) }, context).state;
  expect(first.phase).toMatchObject({ kind: "waiting", delayMs: 800, next: starting });

  const second = step<Pod>({ ...first, phase: listed }, { kind: "failed", failure: failureOf(gone) }, context).state;
  expect(second.phase).toMatchObject({ kind: "waiting", delayMs: 1_600 });
});
