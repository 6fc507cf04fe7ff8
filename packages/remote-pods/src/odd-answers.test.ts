import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import type { ResolvedPod } from "@virtual-kubelet/core";
import { NotFoundError, QuotaExceededError, UnauthorizedError } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { ThrottledError } from "./calls/throttled-error.ts";
import { FakeBackend, type FakeBackendOptions } from "./test-support/fake-backend.ts";
import { FakeNode } from "./test-support/fake-node.ts";

const never = new AbortController().signal;

/** @param change - makes the back end answer oddly, before the node starts */
async function started(
  options: Partial<FakeBackendOptions> = {},
  change: (backend: FakeBackend) => void = () => {},
): Promise<{ readonly clock: VirtualClock; readonly backend: FakeBackend; readonly node: FakeNode }> {
  const clock = new VirtualClock();
  const backend = new FakeBackend({ clock, random: new SeededRandom(1), ...options });
  change(backend);
  const node = new FakeNode(backend, clock);
  node.start();
  await clock.advance(1_000);
  return { clock, backend, node };
}

test.each([{}, { remote: false }, { identity: false, remote: false }])(
  "an object whose state cannot be translated hides no other: it keeps its last state, and is deleted like any other (lists: %j)",
  async (lists) => {
    const { clock, backend, node } = await started({ lists, limits: { describeBatch: 100 } });
    for (const uid of ["uid-0", "uid-1", "uid-2"]) node.add(uid);
    await clock.advance(20_000);
    const observe = backend.observe.bind(backend);
    backend.observe = (object, context) => {
      if (object.id === "uid-1-0") throw new TypeError("Cannot read properties of undefined (reading 'containers')");
      return observe(object, context);
    };
    await node.stop();
    node.start();
    const ended = backend.objects.get("uid-2-0");
    if (ended) ended.endsMs = clock.monotonic();

    await clock.advance(60_000);
    const listed = node.provider.getPods(never);
    await clock.advance(1_000);

    expect((await listed).pods.map(({ ref: { uid }, status: { phase } }) => [uid, phase]).toSorted()).toEqual([
      ["uid-0", "Running"],
      ["uid-1", "Running"],
      ["uid-2", "Succeeded"],
    ]);
    node.delete("uid-1");
    await clock.advance(60_000);
    expect(node.reports.get("uid-1")).toMatchObject({ gone: true });
    expect(backend.liveOf("uid-1")).toEqual([]);
    await node.stop();
  },
);

test.each([{ identity: false }, { identity: false, remote: false }])(
  "an object whose tags make the back end's translation fail makes the list incomplete, and hides no pod (lists: %j)",
  async (lists) => {
    const { clock, backend, node } = await started({ lists }, (odd) => {
      odd.put("odd", { kind: "foreign" });
      const identityOf = odd.identityOf.bind(odd);
      odd.identityOf = (object) => {
        if (object.id === "odd") throw new TypeError("Cannot convert undefined or null to object");
        return identityOf(object);
      };
    });
    node.add("uid-0");
    await clock.advance(20_000);
    await node.stop();
    node.start();
    await clock.advance(1_000);

    const listed = node.provider.getPods(never);
    await clock.advance(1_000);

    expect(await listed).toMatchObject({ pods: [{ ref: { uid: "uid-0" }, status: { phase: "Running" } }], complete: false });
    expect(backend.objects.get("odd")?.endsMs).toBeUndefined();
    await node.stop();
  },
);

test.each([{}, { remote: false }, { identity: false, remote: false }])(
  "earlier objects of a pod that the back end keeps after their end cost no calls, also after a restart and a deletion (lists: %j)",
  async (lists) => {
    const { clock, backend, node } = await started({
      lists,
      limits: { keepsEndedMs: 86_400_000, idempotency: "token", describeBatch: 100 },
      lifeOf: ({ attempt }) => ({ startsAfterMs: 100, exitCode: 1, runsAgain: true, ...(attempt < 3 && { endsAfterMs: 1_000 }) }),
    });
    const callsIn = async (ms: number, kind: string): Promise<number> => {
      backend.calls.length = 0;
      await clock.advance(ms);
      return backend.calls.filter((call) => call.kind === kind).length;
    };
    node.add("uid-0");
    await clock.advance(300_000);
    expect([backend.of("uid-0").length, backend.liveOf("uid-0").length]).toEqual([4, 1]);

    expect(await callsIn(600_000, "end")).toBe(0);
    await node.stop();
    node.start();
    await clock.advance(60_000);
    // The living object is looked at once a minute; the others of the list are not described again.
    expect(await callsIn(600_000, "describe")).toBeLessThanOrEqual(13);
    expect(backend.calls.filter(({ kind }) => kind === "end")).toEqual([]);
    node.delete("uid-0");
    await clock.advance(120_000);
    expect(node.reports.get("uid-0")).toMatchObject({ gone: true });
    expect(await callsIn(600_000, "end")).toBe(0);
    expect(backend.calls.filter(({ kind }) => kind === "describe")).toEqual([]);
    await node.stop();
  },
);

test("a deletion that the back end has accepted and forgotten is asked for again, and not before the grace is over", async () => {
  const deletedMs: number[] = [];
  const { clock, node } = await started({}, (forgetful) => {
    const end = forgetful.end.bind(forgetful);
    forgetful.end = async (target, ending, signal) => {
      if (ending.isDeleted) return "wait";
      deletedMs.push(clock.monotonic());
      return deletedMs.length > 1 ? end(target, { ...ending, graceLeftMs: 0 }, signal) : "deleted";
    };
  });
  node.add("uid-0");
  await clock.advance(20_000);
  const beganMs = clock.monotonic();
  node.delete("uid-0");

  await clock.advance(400_000);

  expect(deletedMs.map((ms) => Math.floor((ms - beganMs) / 60_000))).toEqual([0, 5]);
  expect(deletedMs[1]).toBeGreaterThanOrEqual(beganMs + 330_000);
  expect(node.reports.get("uid-0")).toMatchObject({ gone: true });
  await node.stop();
});

test("a 404 of a deletion that is about something else does not make the pod gone, and leaves it its grace", async () => {
  let strikes = 2;
  const { clock, backend, node } = await started({ lifeOf: () => ({ startsAfterMs: 0, stopMs: 20_000 }) }, (wrong) => {
    const end = wrong.end.bind(wrong);
    wrong.end = (...args) => (strikes-- > 0 ? Promise.reject(new NotFoundError("secret registry is not there")) : end(...args));
  });
  node.add("uid-0");
  await clock.advance(20_000);
  const beganMs = clock.monotonic();
  const deletion = node.provider.deletePod({ namespace: "default", name: "pod-uid-0", uid: "uid-0" }, { gracePeriodSeconds: 30 }, never);
  deletion.catch(() => {});
  await clock.advance(10_000);
  await expect(deletion).rejects.toMatchObject({ code: "VK_UNAVAILABLE", message: "secret registry is not there" });
  expect(node.reports.get("uid-0")).not.toMatchObject({ gone: true });

  await clock.advance(60_000);

  expect(backend.objects.get("uid-0-0")?.endsMs).toBeGreaterThanOrEqual(beganMs + 20_000);
  expect(node.reports.get("uid-0")).toMatchObject({ gone: true });
  expect(node.violations).toEqual([]);
  await node.stop();
});

test("a deletion of a new object that one call shows and the other not yet succeeds, and is asked for again", async () => {
  const { clock, backend, node } = await started({ lifeOf: () => ({ startsAfterMs: 0 }), limits: { visibleAfterMs: 120_000 } });
  const ref = node.add("uid-0");
  await clock.advance(110_000);
  const end = backend.end.bind(backend);
  let refusals = 0;
  backend.end = async (...args) => {
    if (refusals++ < 2) throw new NotFoundError("end: no such object yet");
    return end(...args);
  };

  const deletion = node.provider.deletePod(ref, { gracePeriodSeconds: 0 }, never);
  await clock.advance(1_000);
  await deletion;
  expect(backend.liveOf("uid-0")).toHaveLength(1);
  node.pods.delete("uid-0");
  await clock.advance(8_000);

  expect(backend.liveOf("uid-0")).toEqual([]);
  await node.stop();
});

test("a restarted program does not create an object beside the latest one, which the list may not show yet", async () => {
  const { clock, backend, node } = await started({
    limits: { idempotency: "token", visibleAfterMs: 20_000 },
    lifeOf: () => ({ startsAfterMs: 200_000 }),
  });
  node.add("uid-0");
  await clock.advance(60_000);
  const [first] = backend.liveOf("uid-0");
  if (first) first.removedMs = clock.monotonic();
  for (let seconds = 0; backend.objects.size < 2 && seconds < 300; seconds++) await clock.advance(1_000);
  const second = [...backend.objects.values()].find((object) => object !== first);
  expect(second?.tags).toMatchObject({ identity: { attempt: 1 } });
  if (second) Object.assign(second, { visibleMs: clock.monotonic() + 19_000 });

  await node.stop();
  node.start();
  await clock.advance(300_000);

  expect(backend.violations).toEqual([]);
  expect(backend.liveOf("uid-0")).toEqual([second]);
  expect(node.reports.get("uid-0")).toMatchObject({ status: { phase: "Running" } });
  await node.stop();
});

test.each(["name", "token", "none"] as const)(
  "a create that is answered with another pod's object gives the pod an object of its own (idempotency: %s)",
  async (idempotency) => {
    const { clock, backend, node } = await started({ limits: { idempotency } });
    node.add("uid-0");
    await clock.advance(20_000);
    const [other] = backend.liveOf("uid-0");
    const create = backend.create.bind(backend);
    let strikes = 1;
    backend.create = (...args) => (strikes-- > 0 && other ? Promise.resolve({ id: other.id, remote: other }) : create(...args));

    node.add("uid-1");
    await clock.advance(120_000);
    expect([backend.liveOf("uid-0"), backend.liveOf("uid-1")]).toMatchObject([[{ id: other?.id }], [{ life: {} }]]);
    node.delete("uid-1");
    await clock.advance(60_000);

    expect([backend.liveOf("uid-0").length, backend.liveOf("uid-1").length]).toEqual([1, 0]);
    expect(node.reports.get("uid-1")).toMatchObject({ gone: true });
    expect(node.reports.get("uid-0")).toMatchObject({ status: { phase: "Running" } });
    await node.stop();
  },
);

test("a back end that throttles its pings answers, one that refuses the credentials does not, and an outage is tolerated for a while", async () => {
  const { backend, node } = await started();
  backend.ping = () => Promise.reject(new ThrottledError("slow down"));
  await expect(node.provider.ping(never)).resolves.toBeUndefined();
  backend.ping = () => Promise.reject(new UnauthorizedError("the token is wrong"));
  await expect(node.provider.ping(never)).rejects.toMatchObject({ code: "VK_UNAUTHORIZED" });
  expect(node.provider.pingToleranceMs).toBe(40_000);
  await node.stop();
});

test.each([{}, { remote: false }, { identity: false, remote: false }])(
  "restarts of earlier objects are counted on after a restart of the program (lists: %j)",
  async (lists) => {
    const { clock, node } = await started({
      lists,
      lifeOf: ({ attempt }) => ({ startsAfterMs: 10, exitCode: 1, runsAgain: true, ...(attempt < 2 && { endsAfterMs: 1_000 }) }),
    });
    node.add("uid-0");
    await clock.advance(120_000);
    const counted = { status: { containerStatuses: [{ restartCount: 2, lastState: { terminated: { exitCode: 1 } } }] } };
    expect(node.reports.get("uid-0")).toMatchObject(counted);

    await node.stop();
    node.reports.clear();
    node.start();
    await clock.advance(60_000);

    expect(node.reports.get("uid-0")).toMatchObject(counted);
    await node.stop();
  },
);

test("a pod without room waits for as long as the back end asks, at most ten minutes", async () => {
  const createdMs: number[] = [];
  const { clock, node } = await started({}, (full) => {
    const create = full.create.bind(full);
    full.create = (...args) => {
      createdMs.push(clock.monotonic());
      const retryAfterMs = [300_000, 86_400_000][createdMs.length - 1];
      return retryAfterMs === undefined ? create(...args) : Promise.reject(new QuotaExceededError("no room", { retryAfterMs }));
    };
  });
  const beganMs = clock.monotonic();
  node.add("uid-0");

  await clock.advance(1_200_000);

  // The node tries again every half minute.
  expect(createdMs.map((ms) => Math.floor((ms - beganMs) / 60_000))).toEqual([0, 5, 15]);
  expect(node.reports.get("uid-0")).toMatchObject({ status: { phase: "Running" } });
  await node.stop();
});

test("nothing is remembered of a pod that found no room and was deleted", async () => {
  const { clock, backend, node } = await started();
  const pod = { metadata: { namespace: "default", name: "web", uid: "uid-0" }, spec: { containers: [] } };
  const ref = { namespace: "default", name: "web", uid: "uid-0" };
  const create = async (): Promise<unknown> => {
    const created = node.provider.createPod(pod, {} as ResolvedPod, never).catch((error: unknown) => error);
    await clock.advance(1_000);
    return created;
  };
  backend.faults = { createFull: 1 };
  expect([await create(), await create()]).toMatchObject([{ code: "VK_QUOTA_EXCEEDED" }, { code: "VK_QUOTA_EXCEEDED" }]);
  const deleted = node.provider.deletePod(ref, { gracePeriodSeconds: 0 }, never).catch((error: unknown) => error);
  await clock.advance(1_000);
  expect(await deleted).toMatchObject({ code: "VK_NOT_FOUND" });
  backend.faults = {};

  expect(await create()).toBeUndefined();
  expect(backend.liveOf("uid-0")).toHaveLength(1);
  await node.stop();
});

test("a restarted program creates no object beside a later one that an incomplete list omits", async () => {
  const { clock, backend, node } = await started({
    lifeOf: ({ attempt }) => ({ startsAfterMs: 10, exitCode: 1, runsAgain: true, ...(attempt < 2 && { endsAfterMs: 1_000 }) }),
  });
  node.add("uid-0");
  await clock.advance(120_000);
  const pod = node.pods.get("uid-0") ?? {};
  await node.stop();
  const list = backend.list.bind(backend);
  backend.list = async (signal) => ({ ...(await list(signal)), objects: [], problems: ["page 1 failed"] });
  node.start();

  const created = node.provider.createPod(pod, {} as ResolvedPod, never).catch((error: unknown) => error);
  await clock.advance(10_000);
  expect(await created).toMatchObject({ code: "VK_UNAVAILABLE" });
  backend.list = list;
  const again = node.provider.createPod(pod, {} as ResolvedPod, never);
  await clock.advance(10_000);
  await again;

  expect(backend.liveOf("uid-0")).toMatchObject([{ id: "uid-0-2" }]);
  expect(backend.violations).toEqual([]);
  await node.stop();
});
