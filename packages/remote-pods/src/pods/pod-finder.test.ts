import { untilAborted } from "@virtual-kubelet/async";
import { ConflictError, InvalidInputError, NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";
import { describe, expect, test } from "vitest";
import type { RemoteDescriptions } from "../backend/remote-backend.ts";
import type { FakeObject } from "../test-support/fake-backend.ts";
import { after, createParts, identityOf, owner, refOf, type Parts } from "../test-support/parts.ts";

const never = new AbortController().signal;
const pod = (uid: string, attempt = 0): FakeObject["tags"] => ({ kind: "pod", identity: identityOf(uid, attempt) });
const calls = ({ backend }: Parts, kind: string): number => backend.calls.filter((call) => call.kind === kind).length;
const onlyIds = { identity: false, remote: false, version: false };

describe("a list", () => {
  test("notes the node's pods, and leaves out objects of others and copies", async () => {
    const parts = createParts();
    parts.backend.put("a-0", pod("a"));
    parts.backend.put("other", { kind: "foreign" });
    parts.backend.put("b-0", { kind: "pod", identity: { ...identityOf("b"), owner: { ...owner, nodeName: "node-2" } } });
    parts.backend.put("copy-of-a", pod("a"));

    const listing = await after(parts.clock, parts.finder.list(never));

    expect([[...listing.listed], listing.isComplete, listing.unreadable]).toEqual([["a"], true, []]);
    expect([...parts.table.all()].map(([uid, { kind }]) => [uid, kind])).toEqual([["a", "present"]]);
    expect([parts.finder.isForeign("other"), parts.finder.isForeign("b-0"), parts.finder.isForeign("a-0")]).toEqual([true, true, false]);
  });

  test("is shared by those who ask at the same time, and not by those who ask after it has expired", async () => {
    const parts = createParts();
    const lists = [parts.finder.list(never), parts.finder.list(never)];
    parts.finder.expireLists();
    lists.push(parts.finder.list(never));
    await after(parts.clock, Promise.all(lists));

    expect(calls(parts, "list")).toBe(2);
  });

  /** Two lists of which the second request is answered first. */
  async function overlapping(parts: Parts, between: () => void): Promise<void> {
    const { backend, finder, clock } = parts;
    const listObjects = backend.list.bind(backend);
    const late = Promise.withResolvers<void>();
    backend.list = async (signal) => {
      const answer = await listObjects(signal);
      await late.promise;
      return answer;
    };
    const first = finder.list(never);
    await clock.advance(5_000);
    between();
    backend.list = listObjects;
    finder.expireLists();
    await after(clock, finder.list(never));
    late.resolve();
    await after(clock, first);
  }

  test("does not write an older state back if its answer comes after that to a later request", async () => {
    const parts = createParts();
    const object = parts.backend.put("a-0", pod("a"));
    await overlapping(parts, () => void parts.backend.objects.set("a-0", { ...object, life: { startsAfterMs: 0, stopMs: 7 } }));

    expect(parts.table.objectOf("a")?.remote?.life.stopMs).toBe(7);
  });

  test("does not forget what could not be read if its answer comes after that to a later request", async () => {
    const parts = createParts();
    await overlapping(parts, () => void parts.backend.put("a-0", { kind: "unreadable", why: "cut off", ref: refOf("a") }));

    expect(parts.finder.isUnreadable("a")).toBe(true);
  });

  test("knows what could not be read from an older request if a later one was aborted after its answer", async () => {
    const parts = createParts({ lists: onlyIds });
    const { backend, finder, clock } = parts;
    backend.put("a-0", { kind: "unreadable", why: "cut off", ref: refOf("a") });
    const describeObjects = backend.describe.bind(backend);
    const late = Promise.withResolvers<void>();
    backend.describe = async (ids, signal) => {
      await untilAborted(late.promise, signal);
      return describeObjects(ids, signal);
    };
    const first = finder.list(never);
    await clock.advance(1);
    finder.expireLists();
    const stop = new AbortController();
    const second = finder.list(stop.signal);
    await clock.advance(1);
    stop.abort(new Error("given up"));
    await expect(second).rejects.toThrow("given up");
    late.resolve();
    await after(clock, first);

    expect(finder.isUnreadable("a")).toBe(true);
  });

  test("describes what only an older answer shows, because it may be gone", async () => {
    const parts = createParts();
    parts.backend.put("a-0", pod("a"));
    await overlapping(parts, () => void parts.backend.objects.delete("a-0"));

    expect(parts.table.get("a")).toBeUndefined();
  });

  test("describes unknown objects to read their tags, and those of others once", async () => {
    const parts = createParts({ lists: onlyIds });
    parts.backend.put("a-0", pod("a"));
    parts.backend.put("other", { kind: "foreign" });
    for (let round = 0; round < 3; round++) await after(parts.clock, parts.finder.list(never));

    expect(parts.backend.calls.filter(({ kind }) => kind === "describe").map(({ ids }) => ids)).toEqual([["a-0", "other"]]);
    expect(parts.table.get("a")?.kind).toBe("present");
  });

  test.for<[string, (parts: Parts) => void]>([
    ["the back end says so", ({ backend }) => (backend.faults = { listIncomplete: 1 })],
    ["an unknown object cannot be described", ({ backend }) => (backend.faults = { describeFails: 1 })],
    ["tags cannot be read that may be a pod's", ({ backend }) => void backend.put("odd", { kind: "unreadable", why: "cut off" })],
  ])("is incomplete if %s, and does not make the finder sure", async ([, spoil]) => {
    const parts = createParts({ lists: onlyIds });
    parts.backend.put("a-0", pod("a"));
    spoil(parts);
    const listing = await after(parts.clock, parts.finder.list(never));

    expect([listing.isComplete, parts.finder.hasListed]).toEqual([false, false]);
  });

  test("names the pod of an object that cannot be read, and is complete", async () => {
    const parts = createParts();
    parts.backend.put("a-0", { kind: "unreadable", why: "cut off", ref: refOf("a") });
    const listing = await after(parts.clock, parts.finder.list(never));

    expect([listing.unreadable, listing.isComplete]).toEqual([[{ id: "a-0", ref: refOf("a"), why: "cut off" }], true]);
    expect([parts.finder.isUnreadable("a"), parts.finder.isUnreadable("b")]).toEqual([true, false]);
  });

  test("warns once of the same problem, and again after it was away", async () => {
    const parts = createParts();
    for (const listIncomplete of [1, 1, 0, 1]) {
      parts.backend.faults = { listIncomplete };
      await after(parts.clock, parts.finder.list(never));
    }

    expect(parts.warnings).toEqual(Array.from({ length: 2 }, () => "the list of pods is incomplete; pods that it lacks keep their state"));
  });

  test("keeps the oldest of several objects of one attempt; the others are surplus", async () => {
    const parts = createParts({ limits: { idempotency: "none" } });
    parts.backend.put("z", pod("a"));
    await parts.clock.advance(1_000);
    parts.backend.put("a", pod("a"));
    await after(parts.clock, parts.finder.list(never));

    expect([parts.table.objectOf("a")?.id, parts.surplus]).toEqual(["z", ["a"]]);
  });

  test("takes the latest of several attempts; the earlier ones are surplus", async () => {
    const parts = createParts();
    parts.backend.put("a-0", pod("a", 0));
    parts.backend.put("a-1", pod("a", 1));
    await after(parts.clock, parts.finder.list(never));
    await after(parts.clock, parts.finder.list(never));

    expect([parts.table.objectOf("a")?.id, new Set(parts.surplus)]).toEqual(["a-1", new Set(["a-0"])]);
  });
});

describe("descriptions", () => {
  const ids = Array.from({ length: 25 }, (_, index) => `u${index}-0`);

  test("come in batches of the back end's size, four at a time", async () => {
    const parts = createParts({ limits: { describeBatch: 3 } });
    const describeObjects = parts.backend.describe.bind(parts.backend);
    let [running, most] = [0, 0];
    parts.backend.describe = async (batch, signal) => {
      most = Math.max(most, ++running);
      return describeObjects(batch, signal).finally(() => running--);
    };
    await after(parts.clock, parts.finder.describe(ids, never));

    expect([calls(parts, "describe"), most, parts.backend.violations]).toEqual([9, 4, []]);
    expect(parts.backend.calls.flatMap((call) => call.ids).toSorted()).toEqual(ids.toSorted());
  });

  test.for([new InvalidInputError("one is malformed"), new NotFoundError("one is away")])(
    "are repeated one by one where one id spoils the batch: $name",
    async (error) => {
      const parts = createParts();
      parts.backend.put("a-0", pod("a"));
      parts.backend.put("b-0", pod("b"));
      await after(parts.clock, parts.finder.list(never));
      const describeObjects = parts.backend.describe.bind(parts.backend);
      parts.backend.describe = async (batch, signal) => {
        if (batch.includes("bad")) throw error;
        return describeObjects(batch, signal);
      };

      expect(await after(parts.clock, parts.finder.describe(["a-0", "bad", "b-0"], never))).toEqual(["bad"]);
      expect(parts.backend.calls.filter(({ kind }) => kind === "describe").map((call) => call.ids)).toEqual([["a-0"], ["b-0"]]);
    },
  );

  test("that fail change nothing, and are named", async () => {
    const parts = createParts();
    parts.backend.put("a-0", pod("a"));
    await after(parts.clock, parts.finder.list(never));
    const before = parts.table.get("a");
    parts.backend.faults = { describeFails: 1 };

    expect(await after(parts.clock, parts.finder.describe(["a-0"], never))).toEqual(["a-0"]);
    expect(parts.table.get("a")).toBe(before);
  });

  test("that neither find nor miss an object tell nothing", async () => {
    const parts = createParts();
    parts.backend.describe = async () => ({ found: [], missing: [] });

    expect(await after(parts.clock, parts.finder.describe(["a-0"], never))).toEqual(["a-0"]);
  });

  test("that are aborted throw the reason", async () => {
    const parts = createParts({ latencyMs: 1_000 });
    const abort = new AbortController();
    const described = parts.finder.describe(["a-0"], abort.signal);
    described.catch(() => {});
    abort.abort(new Error("given up"));
    await parts.clock.advance(2_000);

    await expect(described).rejects.toThrow("given up");
  });
});

describe("a look at one object", () => {
  const answer = (over: Partial<RemoteDescriptions<FakeObject>>) => async (): Promise<RemoteDescriptions<FakeObject>> => ({
    found: [],
    missing: [],
    ...over,
  });

  test("that is missing tells so", async () => {
    const parts = createParts();
    parts.backend.describe = answer({ missing: ["a-0"] });

    expect(await after(parts.clock, parts.finder.look("a-0", never))).toBe(false);
  });

  test.for<[string, Partial<RemoteDescriptions<FakeObject>>, RegExp]>([
    ["that is told neither to exist nor to be missing throws", {}, /neither the object nor its absence/],
    ["that cannot be read throws", { unreadable: [{ id: "a-0", why: "no state" }] }, /cannot be read: no state/],
  ])("%s", async ([, over, message]) => {
    const parts = createParts();
    parts.backend.describe = answer(over);
    const looked = after(parts.clock, parts.finder.look("a-0", never));

    await expect(looked).rejects.toThrow(message);
    await expect(looked).rejects.toBeInstanceOf(UnavailableError);
  });

  test("that exists notes it", async () => {
    const parts = createParts();
    parts.backend.put("a-0", pod("a"));

    expect(await after(parts.clock, parts.finder.look("a-0", never))).toBe(true);
    expect(parts.table.objectOf("a")?.observation?.progress).toBe("running");
  });
});

describe.for<["name" | "none"]>([["name"], ["none"]])("a search, where creates are told apart by %s", ([idempotency]) => {
  const found = (options: Parameters<typeof createParts>[0] = {}): Parts => createParts({ ...options, limits: { idempotency } });

  test("finds the object of an unknown pod in the list, with its state", async () => {
    const parts = found({ lists: { remote: false } });
    parts.backend.put("a-0", pod("a"));
    await after(parts.clock, parts.finder.find(refOf("a"), never), 5);

    expect(parts.table.objectOf("a")?.observation?.progress).toBe("running");
  });

  test("looks at the object of a known pod, and lists nothing", async () => {
    const parts = found();
    parts.backend.put("a-0", pod("a"));
    await after(parts.clock, parts.finder.list(never));
    parts.backend.calls.length = 0;
    await after(parts.clock, parts.finder.find(refOf("a"), never));

    expect(parts.backend.calls.map(({ kind }) => kind)).toEqual(["describe"]);
  });

  test("says that there is none only after a complete list", async () => {
    const parts = found();
    await expect(after(parts.clock, parts.finder.find(refOf("a"), never))).rejects.toBeInstanceOf(NotFoundError);
    parts.backend.faults = { listIncomplete: 1 };
    await expect(after(parts.clock, parts.finder.find(refOf("a"), never))).rejects.toBeInstanceOf(UnavailableError);
  });

  test("takes an object that cannot be read only if it may", async () => {
    const parts = found();
    parts.backend.put("a-0", { kind: "unreadable", why: "cut off", ref: refOf("a") });
    await expect(after(parts.clock, parts.finder.find(refOf("a"), never))).rejects.toThrow(/cannot be read: cut off/);
    await after(parts.clock, parts.finder.find(refOf("a"), never, { acceptUnreadable: true }));

    expect(parts.table.get("a")).toMatchObject({ kind: "present", object: { id: "a-0", observation: undefined } });
  });
});

describe("an adoption", () => {
  test("takes the object whose id the pod implies, without a list", async () => {
    const parts = createParts();
    parts.backend.put("a-1", pod("a", 1));

    expect(await after(parts.clock, parts.finder.adopt(identityOf("a", 1), never))).toBe(true);
    expect([calls(parts, "list"), parts.table.objectOf("a")?.id]).toEqual([0, "a-1"]);
  });

  test("does not take an object of that id that is somebody else's", async () => {
    const parts = createParts();
    parts.backend.put("a-0", { kind: "foreign" });

    await expect(after(parts.clock, parts.finder.adopt(identityOf("a"), never))).rejects.toBeInstanceOf(ConflictError);
    expect(parts.table.get("a")).toBeUndefined();
  });

  test.for(["name", "none"] as const)("settles an unclear create of which there is nothing: %s", async (idempotency) => {
    const parts = createParts({ limits: { idempotency } });
    parts.table.dispatch("a", { kind: "create", identity: identityOf("a") });
    parts.table.dispatch("a", { kind: "unclear" });

    expect(await after(parts.clock, parts.finder.adopt(identityOf("a"), never))).toBe(false);
    expect(parts.table.get("a")).toBeUndefined();
  });
});
