import { DeadlineExceededError, UnavailableError } from "@virtual-kubelet/errdefs";
import { describe, expect, test } from "vitest";
import { apiError } from "../errors/api-error.ts";
import { DecodeError } from "../errors/decode-error.ts";
import type { Pod } from "../rest/objects.ts";
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
      state: { phase: { kind: "watching", resourceVersion: "8", silent: true }, memory: initialReflectorState.memory },
      effects: [],
    });
  });

  test("that the server ends is resumed at once, however short it was, if it brought an object", () => {
    expect(run(watching, { kind: "ended", openMs: 5 }).state.phase).toEqual(listed);
    expect(run(silent, { kind: "ended", openMs: 1_000 }).state.phase).toEqual(listed);
  });

  test("that ends within a second and brought nothing, or bookmarks alone, backs off", () => {
    expect(run(silent, { kind: "ended", openMs: 999 }).state.phase).toMatchObject({
      kind: "waiting",
      next: listed,
      failure: { kind: "short" },
    });
    for (const version of ["7", "8"]) {
      const bookmarked = run(silent, event("BOOKMARK", pod(version))).state;
      const next = { kind: "listed", resourceVersion: version };
      expect(step(bookmarked, { kind: "ended", openMs: 5 }, context()).state.phase).toMatchObject({ kind: "waiting", next });
      expect(step(bookmarked, { kind: "ended", openMs: 1_000 }, context()).state.phase).toEqual(next);
    }
    const changed = run(watching, event("BOOKMARK", pod("8"))).state;
    expect(step(changed, { kind: "ended", openMs: 5 }, context()).state.phase).toMatchObject({ kind: "listed" });
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

describe("after a failure", () => {
  const memory = initialReflectorState.memory;

  test("the state says what failed, how often, when, how long it waits, and for what", () => {
    const failure = failureOf(broken);

    expect(run(watching, { kind: "failed", failure })).toEqual({
      state: {
        phase: { kind: "waiting", delayMs: 400, attempt: 1, failure, next: listed },
        memory: { streamsLost: 0, failures: 1, failedMs: 1_000, failedKind: "other", unreadable: 0 },
      },
      effects: [],
    });
  });

  test.each<[string, ReflectorPhase, Error]>([
    ["a streamed list is lost", streaming, broken],
    ["a page has expired", thirdPage, gone],
    ["a page's token is refused", thirdPage, refused],
    ["a watch's version is too old", watching, gone],
    ["a watch's version is not known yet", listed, ahead],
    ["a watch is refused", listed, refused],
  ])("what was collected is dropped when %s", (_, phase, error) => {
    expect(run(phase, { kind: "failed", failure: failureOf(error) }).effects).toEqual([{ kind: "clear" }]);
  });

  test.each<[string, ReflectorPhase, Error]>([
    ["a list cannot be begun", starting, broken],
    ["a page does not come", thirdPage, broken],
    ["a watch cannot be opened", listed, broken],
    ["a watch breaks", watching, broken],
    ["a line cannot be read", watching, unreadable],
    ["a watch is silent", watching, overdue],
  ])("nothing is dropped when %s", (_, phase, error) => {
    expect(run(phase, { kind: "failed", failure: failureOf(error) }).effects).toEqual([]);
  });

  test("what was to come next does, and what is remembered stays", () => {
    const waiting = run(watching, { kind: "failed", failure: failureOf(unreadable) }).state;

    expect(step<Pod>(waiting, { kind: "waited" }, context())).toEqual({ state: { phase: listed, memory: waiting.memory }, effects: [] });
    expect(waiting.memory.unreadable).toBe(1);
  });

  test("of the first list, pages are asked for at once where the server cannot stream, and it is not asked again", () => {
    expect(run(starting, { kind: "failed", failure: failureOf(refused) })).toEqual({
      state: { phase: firstPage, memory: { ...memory, streamsLost: "refused" } },
      effects: [{ kind: "clear" }],
    });
    const lost = run(streaming, { kind: "failed", failure: failureOf(refused) }).state;
    expect(lost).toMatchObject({ phase: { kind: "waiting", next: firstPage }, memory: { streamsLost: "refused" } });
    const again = step<Pod>({ phase: streaming, memory: lost.memory }, { kind: "failed", failure: failureOf(broken) }, context()).state;
    expect(again).toMatchObject({ phase: { next: firstPage }, memory: { streamsLost: "refused" } });
  });

  test("two lost streams are two, and the next that comes to its end makes them none", () => {
    const lost: ReflectorState = { phase: streaming, memory: { ...memory, streamsLost: 1, unreadable: 2, failures: 4 } };
    const { state } = step<Pod>(lost, { kind: "failed", failure: failureOf(overdue) }, context());
    expect(state).toMatchObject({ phase: { next: starting }, memory: { streamsLost: 2 } });

    const ended = step(lost, event("BOOKMARK", endOfInitialEvents("9")), context());

    expect(ended.state).toEqual({
      phase: { kind: "watching", resourceVersion: "9", silent: false },
      memory: { ...memory, failures: 4 },
    });
  });

  test("a list that came to its end makes bad lines none, and changes nothing else of what is remembered", () => {
    const before: ReflectorState = { phase: firstPage, memory: { ...memory, streamsLost: "refused", unreadable: 2, failures: 4 } };

    const { state } = step<Pod>(before, { kind: "page", objects: [], resourceVersion: "5", continue: undefined }, context());

    expect(state).toEqual({ phase: { kind: "listed", resourceVersion: "5" }, memory: { ...before.memory, unreadable: 0 } });
  });

  test("an event makes bad lines none, and changes nothing else of what is remembered", () => {
    const before: ReflectorState = { phase: silent, memory: { ...memory, streamsLost: "refused", unreadable: 2, failures: 4 } };

    expect(step(before, event("MODIFIED", pod("8")), context()).state.memory).toEqual({ ...before.memory, unreadable: 0 });
  });

  test("bad lines count where they follow one another, also with other failures between them", () => {
    const before: ReflectorState = { phase: watching, memory: { ...memory, unreadable: 2 } };

    const other = step<Pod>(before, { kind: "failed", failure: failureOf(broken) }, context());
    expect(other.state).toMatchObject({ phase: { next: listed }, memory: { unreadable: 2 } });
    const third = step<Pod>(before, { kind: "failed", failure: failureOf(unreadable) }, context());
    expect(third).toMatchObject({ state: { phase: { next: starting }, memory: { unreadable: 3 } }, effects: [{ kind: "clear" }] });
  });
});

describe("the server's own end", () => {
  test("of a streamed list before its bookmark is a lost stream", () => {
    expect(run(streaming, { kind: "ended", openMs: 60_000 }).state).toMatchObject({
      phase: { kind: "waiting", next: starting, failure: { kind: "short", retryAfterMs: undefined } },
      memory: { streamsLost: 1, failedKind: "short" },
    });
  });

  test("of a watch needs no effect and no wait", () => {
    expect(run(watching, { kind: "ended", openMs: 0 })).toEqual({
      state: { phase: listed, memory: initialReflectorState.memory },
      effects: [],
    });
  });
});

describe("an ERROR event in full", () => {
  const failed = (phase: ReflectorPhase, object: object): StepResult<Pod> =>
    run(phase, { kind: "event", event: { type: "ERROR", object } });

  test("is told with the server's words, and its wait is kept", () => {
    const { state } = failed(watching, { code: 429, message: "slow down", details: { retryAfterSeconds: 7 } });

    expect(state.phase).toMatchObject({
      kind: "waiting",
      delayMs: 7_000,
      failure: { error: { message: "watch: slow down" }, retryAfterMs: 7_000 },
    });
  });

  test("without a code is the server's trouble, not the watch's", () => {
    expect(failed(watching, { message: "who knows" }).state.phase).toMatchObject({ next: listed, failure: { kind: "other" } });
  });

  test("in the middle of a streamed list is a lost stream", () => {
    expect(failed(streaming, { code: 500 })).toMatchObject({ state: { memory: { streamsLost: 1 } }, effects: [{ kind: "clear" }] });
  });
});

describe("what comes in is taken as it is:", () => {
  test("a changed object of a streamed list is collected like a new one", () => {
    expect(run(streaming, event("MODIFIED", pod("3"))).effects).toEqual([{ kind: "collect", type: "put", objects: [pod("3")] }]);
  });

  test("a bookmark that does not say it is the list's end is not", () => {
    for (const annotations of [{}, { "k8s.io/initial-events-end": "false" }, { other: "true" }]) {
      const { state, effects } = run(streaming, event("BOOKMARK", { metadata: { resourceVersion: "9", annotations } }));
      expect([state.phase, effects]).toEqual([streaming, []]);
    }
  });

  test("an object without a version leaves the watch's as it is", () => {
    expect(run(silent, event("BOOKMARK", { metadata: {} })).state.phase).toEqual(silent);
  });

  test("a watch that was opened has brought nothing yet", () => {
    expect(run(listed, { kind: "opened" })).toEqual({ state: { phase: silent, memory: initialReflectorState.memory }, effects: [] });
  });

  test("a page is collected before the store is replaced, and the next is asked for as this one was", () => {
    const objects = [pod("1")];
    const whole: ReflectorPhase = { kind: "listing", continue: undefined, paged: false };

    expect(run(whole, { kind: "page", objects, resourceVersion: "5", continue: undefined }).effects).toEqual([
      { kind: "collect", type: "put", objects },
      { kind: "replace", list: "paged" },
    ]);
    expect(run(whole, { kind: "page", objects, resourceVersion: "5", continue: "page-2" }).state.phase).toEqual({
      ...whole,
      continue: "page-2",
      resourceVersion: "5",
    });
  });

  test("a change is applied to its object", () => {
    expect(run(watching, event("ADDED", pod("8"))).effects).toEqual([{ kind: "apply", type: "put", object: pod("8") }]);
    expect(run(watching, event("DELETED", pod("8"))).effects).toEqual([{ kind: "apply", type: "remove", object: pod("8") }]);
  });
});

describe("the server's wish to be left alone", () => {
  const waitOf = (error: Error, chance: number): number => {
    const { phase } = step<Pod>(
      { ...initialReflectorState, phase: watching },
      { kind: "failed", failure: failureOf(error) },
      context(0, chance),
    ).state;
    return phase.kind === "waiting" ? phase.delayMs : 0;
  };

  test("is met by at most a tenth more, so that many do not come back at once", () => {
    expect(waitOf(busy, 0)).toBe(7_000);
    expect(waitOf(busy, 1)).toBeCloseTo(7_700);
  });

  test("is less than the back-off, and the back-off counts", () => {
    expect(waitOf(new UnavailableError("busy", { retryAfterMs: 100 }), 1)).toBe(800);
  });
});
