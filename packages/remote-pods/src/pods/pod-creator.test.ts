import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import {
  codeOf,
  ForbiddenError,
  InvalidInputError,
  NotFoundError,
  QuotaExceededError,
  TerminalError,
  UnauthorizedError,
  UnavailableError,
  UnsupportedError,
} from "@virtual-kubelet/errdefs";
import { describe, expect, test } from "vitest";
import { after, createParts, identityOf, podOf, unresolved, type Parts } from "../test-support/parts.ts";
import { FakeBackend, type FakeBackendOptions, type FakeLife } from "../test-support/fake-backend.ts";
import { FakeNode } from "../test-support/fake-node.ts";

interface World {
  readonly clock: VirtualClock;
  readonly backend: FakeBackend;
  readonly node: FakeNode;
}

async function started(options: Partial<FakeBackendOptions> = {}): Promise<World> {
  const clock = new VirtualClock();
  const backend = new FakeBackend({ clock, random: new SeededRandom(1), ...options });
  const node = new FakeNode(backend, clock);
  node.start();
  await clock.advance(10_000);
  return { clock, backend, node };
}

/** A container that ends after 30 s and is expected to run again. */
const again = (): FakeLife => ({ startsAfterMs: 0, endsAfterMs: 30_000, exitCode: 1, runsAgain: true });

const creates = ({ backend }: World): readonly number[] => backend.calls.filter(({ kind }) => kind === "create").map(({ atMs }) => atMs);

test("a pod's next object that finds no quota is created again when its event says so", async () => {
  const world = await started({ lifeOf: again });
  const { clock, backend, node } = world;
  node.add("uid-0");
  await clock.advance(20_000);
  backend.faults = { createFull: 1 };
  backend.calls.length = 0;
  await clock.advance(15 * 60_000);

  const told = node.events.map(({ message }) => Number(/it is tried again in (\d+) s/.exec(message)?.[1]));
  const waits = creates(world).flatMap((atMs, index, all) => (index === 0 ? [] : [(atMs - (all[index - 1] ?? 0)) / 1000]));
  expect(told).toEqual([60, 120, 240, 480].slice(0, told.length));
  expect(waits.length).toBeGreaterThanOrEqual(3);
  for (const [index, seconds] of waits.entries()) {
    expect(seconds).toBeGreaterThanOrEqual(told[index] ?? 0);
    expect(seconds).toBeLessThanOrEqual((told[index] ?? 0) + 1);
  }
  await node.stop();
});

test("a next object that was incomplete is replaced, and the runs before it are still counted", async () => {
  const { clock, backend, node } = await started({ lifeOf: again, limits: { idempotency: "none" } });
  node.add("uid-0");
  await clock.advance(20_000);
  const discarded: string[] = [];
  backend.discardIncomplete = async ({ id }) => {
    discarded.push(id);
    const object = backend.objects.get(id);
    if (object) object.removedMs = clock.monotonic();
    return true;
  };
  backend.faults = { createLost: 1 };
  await clock.advance(25_000);
  expect(discarded).toHaveLength(1);
  const between = node.reports.get("uid-0");
  backend.faults = {};
  await clock.advance(25_000);

  const after = node.reports.get("uid-0");
  const [first, second] = [between, after].map((report) => report && "status" in report && report.status.containerStatuses?.[0]);
  expect(first).toMatchObject({ restartCount: 0, lastState: { terminated: { exitCode: 1 } }, state: { waiting: {} } });
  expect(second).toMatchObject({ restartCount: 1, lastState: { terminated: { exitCode: 1 } }, state: { running: {} } });
  await node.stop();
});

test("a list that began before a create does not tell that the create has made nothing", async () => {
  const { clock, backend, node } = await started({
    lifeOf: ({ attempt }) => (attempt === 0 ? again() : { startsAfterMs: 0 }),
    limits: { idempotency: "none" },
  });
  node.add("uid-0");
  await clock.advance(30_000);
  // Each list takes 20 s to come back, with what was there when it was asked for.
  const list = backend.list.bind(backend);
  backend.list = async (signal) => {
    const listing = await list(signal);
    await clock.sleep(20_000, signal);
    return listing;
  };
  const stop = new AbortController();
  const lists = (async () => {
    for (;;) await node.provider.getPods(stop.signal);
  })().catch(() => {});
  backend.faults = { createLost: 1 };
  backend.calls.length = 0;
  await clock.runUntil(() => backend.calls.some(({ kind }) => kind === "create"));
  await clock.advance(1_000);
  backend.faults = {};
  await clock.advance(180_000);

  expect(backend.liveOf("uid-0")).toHaveLength(1);
  expect(backend.calls.filter(({ kind }) => kind === "create")).toHaveLength(1);
  expect(backend.violations).toEqual([]);
  stop.abort();
  await lists;
  await node.stop();
});

const never = new AbortController().signal;
const create = ({ clock, creator }: Parts, uid = "a", ms = 10): Promise<void> =>
  after(clock, creator.create(podOf(uid), unresolved, never), ms);
const kinds = ({ backend }: Parts): readonly string[] => backend.calls.map(({ kind }) => kind);

/** Parts whose list was read, so that an object of an unknown pod does not exist. */
async function listed(options: Parameters<typeof createParts>[0] = {}): Promise<Parts> {
  const parts = createParts(options);
  await after(parts.clock, parts.finder.list(never), 2_000);
  parts.backend.calls.length = 0;
  return parts;
}

describe("a create", () => {
  test("is sent once, and not again for a pod that has an object", async () => {
    const parts = await listed();
    await create(parts);
    await create(parts);

    expect(kinds(parts)).toEqual(["create"]);
    expect(parts.table.get("a")).toMatchObject({ kind: "present", object: { id: "a-0", identity: identityOf("a") } });
  });

  test("is shared by calls at the same time, and goes on after one of them was aborted", async () => {
    const parts = await listed({ latencyMs: 1_000 });
    const abort = new AbortController();
    const first = parts.creator.create(podOf("a"), unresolved, abort.signal);
    first.catch(() => {});
    await parts.clock.advance(100);
    expect([...parts.creator.underWay]).toEqual(["a"]);
    abort.abort(new Error("given up"));
    await expect(first).rejects.toThrow("given up");
    await create(parts, "a", 5_000);

    expect(kinds(parts)).toEqual(["create"]);
    expect([...parts.creator.underWay]).toEqual([]);
  });

  test("looks for the pod's object before the first list, and adopts it", async () => {
    const parts = createParts();
    parts.backend.put("a-0", { kind: "pod", identity: identityOf("a") });
    await create(parts);

    expect(kinds(parts)).toEqual(["describe"]);
    expect(parts.table.get("a")?.kind).toBe("present");
  });

  test("is not sent while the last list shows an object of the pod that cannot be read", async () => {
    const parts = createParts({ limits: { idempotency: "none" } });
    parts.backend.put("x", { kind: "unreadable", why: "cut off", ref: identityOf("a").ref });
    await after(parts.clock, parts.finder.list(never));

    await expect(create(parts)).rejects.toThrow(/cannot be read: cut off/);
    expect(kinds(parts)).not.toContain("create");
  });

  test("is refused while the pod's object is being deleted", async () => {
    const parts = await listed();
    await create(parts);
    parts.table.dispatch("a", { kind: "delete", deadlineMs: 0 });

    await expect(create(parts)).rejects.toThrow(/its object is still being deleted/);
  });

  test("of a pod that the back end has lost gets the next number", async () => {
    const parts = await listed();
    await create(parts);
    parts.backend.objects.clear();
    parts.table.dispatch("a", { kind: "absent", id: "a-0" });
    await parts.clock.advance(2_000);
    parts.table.dispatch("a", { kind: "absent", id: "a-0" });
    await create(parts);

    expect([...parts.backend.objects.keys()]).toEqual(["a-1"]);
  });

  test.for<[string, Error, string]>([
    ["an invalid request", new InvalidInputError("no"), "VK_INVALID_INPUT"],
    ["a missing permission", new ForbiddenError("no"), "VK_FORBIDDEN"],
    ["refused credentials", new UnauthorizedError("no"), "VK_UNAUTHORIZED"],
    ["something that the back end cannot do", new UnsupportedError("no"), "VK_UNSUPPORTED"],
    ["a pod that can never run", new TerminalError("no"), "VK_TERMINAL"],
    ["a network that does not exist, which does not mean the pod", new NotFoundError("no"), "VK_INVALID_INPUT"],
  ])("that is refused leaves nothing: %s", async ([, error, code]) => {
    const parts = await listed();
    parts.backend.create = () => Promise.reject(error);
    const thrown: unknown = await create(parts).catch((caught: unknown) => caught);

    expect([codeOf(thrown), String(thrown)]).toEqual([code, expect.stringContaining("no")]);
    expect(parts.table.get("a")).toBeUndefined();
    expect(kinds(parts)).toEqual([]);
  });

  test("without quota is refused with the time of the next attempt, without a request until then, later each time up to ten minutes", async () => {
    const parts = await listed();
    parts.backend.faults = { createFull: 1 };
    const waits: unknown[] = [];
    for (let round = 0; round < 6; round++) {
      const error: unknown = await create(parts).catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(QuotaExceededError);
      const { retryAfterMs = 0 } = error as QuotaExceededError;
      waits.push(retryAfterMs / 1000);
      expect(String(error)).toContain(`Fake Cloud has no room: no capacity; it is tried again in ${retryAfterMs / 1000} s`);
      await parts.clock.advance(retryAfterMs - 1_000);
      expect(await create(parts).catch((caught: unknown) => caught)).toBe(error);
      await parts.clock.advance(1_000);
    }
    expect(waits).toEqual([60, 120, 240, 480, 600, 600]);
    expect(kinds(parts)).toHaveLength(6);

    parts.backend.faults = {};
    await create(parts);
    expect(parts.table.get("a")?.kind).toBe("present");
  });

  test("forgets a lack of quota with the pod, and after a success", async () => {
    const parts = await listed();
    parts.backend.faults = { createFull: 1 };
    await create(parts).catch(() => {});
    parts.creator.forget("a");
    parts.backend.faults = {};
    await create(parts);

    expect(kinds(parts)).toEqual(["create", "create"]);
  });

  test.for(["name", "token"] as const)("whose answer was lost is adopted at once: %s", async (idempotency) => {
    const parts = await listed({ limits: { idempotency } });
    parts.backend.faults = { createLost: 1 };
    await create(parts);

    expect(parts.backend.of("a")).toHaveLength(1);
    expect(parts.table.get("a")?.kind).toBe("present");
  });

  test("that meets an object of its name adopts it", async () => {
    const parts = await listed();
    parts.backend.put("a-0", { kind: "pod", identity: identityOf("a") });
    await create(parts);

    expect(kinds(parts)).toEqual(["create", "describe"]);
    expect(parts.table.get("a")?.kind).toBe("present");
  });

  test("whose outcome cannot be found out waits for it, where a second create would make a second object", async () => {
    const parts = await listed({ limits: { idempotency: "none", visibleAfterMs: 60_000 } });
    parts.backend.faults = { createUnavailable: 1 };
    await expect(create(parts)).rejects.toBeInstanceOf(UnavailableError);
    await expect(create(parts)).rejects.toThrow(/unknown whether an earlier create has succeeded/);
    expect(kinds(parts).filter((kind) => kind === "create")).toHaveLength(1);

    parts.backend.faults = {};
    await parts.clock.advance(60_000);
    await create(parts);
    expect(parts.backend.of("a")).toHaveLength(1);
  });

  test("is not sent if a deletion begins while the pod is translated", async () => {
    const parts = await listed();
    const gate = Promise.withResolvers<string>();
    parts.backend.translate = () => gate.promise;
    const created = create(parts);
    created.catch(() => {});
    await parts.clock.settle();
    parts.backend.put("a-0", { kind: "pod", identity: identityOf("a") });
    await after(parts.clock, parts.finder.look("a-0", never));
    parts.table.dispatch("a", { kind: "delete", deadlineMs: 0 });
    gate.resolve("a");

    await expect(after(parts.clock, created)).rejects.toThrow(/its state has changed/);
    expect(kinds(parts)).toEqual(["describe"]);
  });

  test("of an incomplete object that an earlier create has left replaces it", async () => {
    const parts = createParts({ limits: { idempotency: "none" } });
    parts.backend.put("x", { kind: "pod", identity: identityOf("a") });
    parts.backend.discardIncomplete = async ({ id }) => parts.backend.objects.delete(id);
    await create(parts);

    expect(kinds(parts)).toEqual(["list", "create"]);
    expect(parts.table.get("a")).toMatchObject({ kind: "present", object: { id: "a-0-0" } });
  });
});

describe("the next object", () => {
  const ended = (uid = "a"): FakeLife & { uid: string } => ({ uid, startsAfterMs: 0, endsAfterMs: 1_000, exitCode: 1, runsAgain: true });

  /** A pod whose first object has ended and that waits for the next one. */
  async function waiting(limits: Partial<FakeBackend["limits"]> = {}): Promise<Parts> {
    const parts = await listed({ lifeOf: () => ended(), limits });
    parts.pods.set("a", podOf("a"));
    await create(parts);
    await parts.clock.advance(2_000 + (limits.visibleAfterMs ?? 0) / 2);
    await after(parts.clock, parts.finder.look("a-0", never));
    parts.backend.calls.length = 0;
    return parts;
  }

  test("of a pod that waits for it is created with the next number, and without a look", async () => {
    const parts = await waiting();
    await after(parts.clock, parts.creator.createNext("a", never));

    expect([kinds(parts), parts.table.objectOf("a")?.identity.attempt]).toEqual([["create"], 1]);
  });

  test("of an object of an earlier start of the program is not created while a later one may not be listed yet", async () => {
    const parts = await listed({ lifeOf: () => ended(), limits: { visibleAfterMs: 60_000 } });
    parts.pods.set("a", podOf("a"));
    parts.backend.put("a-0", { kind: "pod", identity: identityOf("a") }, { life: ended() }).endsMs = 0;
    await after(parts.clock, parts.finder.look("a-0", never));
    expect(parts.table.get("a")?.kind).toBe("waiting");
    parts.backend.calls.length = 0;
    await after(parts.clock, parts.creator.createNext("a", never));
    expect(kinds(parts)).toEqual([]);
    await parts.clock.advance(60_000);
    await after(parts.clock, parts.creator.createNext("a", never));

    expect(kinds(parts)).toEqual(["create"]);
  });

  test("of an object that this program has created is created at once, because no other program can have created a later one", async () => {
    const parts = await waiting({ visibleAfterMs: 60_000 });
    await after(parts.clock, parts.creator.createNext("a", never));

    expect(kinds(parts)).toEqual(["create"]);
  });

  test.for<[string, (parts: Parts) => void]>([
    ["is gone at the API server", ({ pods }) => pods.delete("a")],
    ["is another one of the same name", ({ pods }) => pods.set("a", podOf("b"))],
    ["is being deleted", ({ pods }) => pods.set("a", { metadata: { ...podOf("a").metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } })],
  ])("is not created if the pod %s", async ([, change]) => {
    const parts = await waiting();
    change(parts);
    await after(parts.clock, parts.creator.createNext("a", never));

    expect(kinds(parts)).toEqual([]);
  });
});
