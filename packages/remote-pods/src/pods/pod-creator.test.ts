import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import { expect, test } from "vitest";
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
