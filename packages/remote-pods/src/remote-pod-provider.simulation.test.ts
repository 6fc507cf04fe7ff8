import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import type { BackendLimits } from "./backend/backend-limits.ts";
import type { ProviderPodStatus } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import type { PodIdentity } from "./backend/observation.ts";
import { FakeBackend, type FakeFaults, type FakeLife } from "./test-support/fake-backend.ts";
import { FakeNode } from "./test-support/fake-node.ts";

const minuteMs = 60_000;
const owner = { clusterId: "cluster-1", nodeName: "node-1" };

interface World {
  readonly clock: VirtualClock;
  readonly backend: FakeBackend;
  readonly node: FakeNode;
  readonly created: readonly string[];
  readonly foreign: readonly string[];
}

function pick<Value>(random: SeededRandom, values: readonly Value[]): Value {
  const value = values[Math.floor(random.next() * values.length)];
  return value as Value;
}

function faults(random: SeededRandom): Partial<FakeFaults> {
  const some = (): number => (random.next() < 0.4 ? random.next() * 0.5 : 0);
  return {
    createLost: some(),
    createLate: some(),
    createRefused: some(),
    createFull: some(),
    createUnavailable: some(),
    listFails: some(),
    listIncomplete: some(),
    describeFails: some(),
    endFails: some(),
    endLost: some(),
  };
}

/** Random pods, deletions, restarts and faults for some minutes; then half an hour without any. */
async function simulate(seed: number): Promise<World> {
  const random = new SeededRandom(seed);
  const clock = new VirtualClock(Date.UTC(2026, 0, 1));
  const limits: Partial<BackendLimits> = {
    idempotency: pick(random, ["name", "token", "none"]),
    visibleAfterMs: pick(random, [0, 0, 5_000, 20_000]),
    keepsEndedMs: pick(random, [undefined, 10 * minuteMs]),
    listShowsChanges: random.next() < 0.3,
    describeBatch: pick(random, [1, 3, 100]),
  };
  const lives = new Map<string, FakeLife>();
  const backend = new FakeBackend({
    clock,
    random,
    limits,
    lists: { identity: random.next() < 0.6, remote: random.next() < 0.5, version: limits.listShowsChanges === true || random.next() < 0.5 },
    lifeOf: ({ ref: { uid } }: PodIdentity) => lives.get(uid) ?? { startsAfterMs: 0 },
  });
  const node = new FakeNode(backend, clock, seed);
  const others: PodIdentity = {
    ref: { namespace: "default", name: "x", uid: "other-1" },
    owner: { ...owner, nodeName: "node-2" },
    attempt: 0,
  };
  backend.put("foreign-1", { kind: "foreign" });
  backend.put("foreign-2", { kind: "pod", identity: others });
  const foreign = ["foreign-1", "foreign-2"];
  backend.faults = faults(random);
  node.start();
  const created: string[] = [];
  for (let round = 0; round < 25; round++) {
    const action = random.next();
    if (action < 0.45 && created.length < 6) {
      const uid = `uid-${created.length}`;
      created.push(uid);
      lives.set(uid, {
        startsAfterMs: random.next() * 20_000,
        endsAfterMs: pick(random, [undefined, undefined, 30_000, 90_000]),
        exitCode: pick(random, [0, 1]),
        stopMs: pick(random, [0, 5_000, 100_000]),
        runsAgain: random.next() < 0.4,
      });
      node.add(uid);
    } else if (action < 0.65 && created.length > 0) node.delete(pick(random, created));
    else if (action < 0.75) {
      await node.stop();
      node.start();
    } else if (action < 0.8) backend.faults = faults(random);
    else if (action < 0.87 && created.length > 0) {
      // Somebody deletes an object by hand.
      const [object] = backend.liveOf(pick(random, created));
      if (object && object.visibleMs <= clock.monotonic()) object.removedMs = clock.monotonic();
    } else if (action < 0.92 && created.length > 0) {
      // Somebody copies an object with its tags, or changes them.
      const [object] = backend.liveOf(pick(random, created));
      if (object && object.visibleMs <= clock.monotonic() && limits.idempotency === "name") {
        foreign.push(`copy-${round}`);
        backend.put(`copy-${round}`, object.tags, { hasOtherName: true });
      }
    }
    await clock.advance(random.next() * 20_000);
  }
  backend.faults = {};
  await clock.advance(30 * minuteMs);
  return { clock, backend, node, created, foreign };
}

/** @returns what is wrong in the end */
function faultsOf({ backend, node, created, foreign }: World): readonly string[] {
  const wrong = [...backend.violations, ...node.violations];
  for (const id of foreign)
    if (backend.objects.get(id)?.removedMs !== undefined || backend.objects.get(id)?.endsMs !== undefined) wrong.push(`${id} was changed`);
  return [...wrong, ...created.flatMap((uid) => podFaults(uid, backend, node))];
}

function statusOf(uid: string, { reports }: FakeNode): ProviderPodStatus | undefined {
  const report = reports.get(uid);
  return report && "status" in report ? report.status : undefined;
}

function podFaults(uid: string, backend: FakeBackend, node: FakeNode): readonly string[] {
  const live = backend.liveOf(uid);
  const pod = node.pods.get(uid);
  if (!pod) return live.length > 0 ? [`${uid} is deleted, and its object lives`] : [];
  if (pod.metadata?.deletionTimestamp !== undefined) return [`${uid} is still being deleted`];
  const status = statusOf(uid, node);
  const isFinal = status?.phase === "Succeeded" || status?.phase === "Failed";
  const mayBeBetween = isFinal || backend.of(uid).some(({ life }) => life.runsAgain);
  if (live.length > 1 || (live.length === 0 && !mayBeBetween)) return [`${uid} (${status?.phase}) has ${live.length} objects`];
  const [object] = live;
  const state = status?.containerStatuses?.[0]?.state;
  const isTrue = !object || object.life.endsAfterMs !== undefined || state?.running !== undefined;
  return isTrue ? [] : [`${uid} runs, and ${JSON.stringify(state)} was reported`];
}

const seeds = Number(process.env["SEEDS"] ?? 200);
const first = Number(process.env["SEED"] ?? 1);

test("whatever fails, each pod has one object in the end, and each deleted pod none", async () => {
  const failed: string[] = [];
  let objects = 0;
  for (let seed = first; seed < first + seeds; seed++) {
    const world = await simulate(seed);
    for (const wrong of faultsOf(world)) failed.push(`seed ${seed}: ${world.backend.limits.idempotency}: ${wrong}`);
    const { atMs: endMs } = world.backend.calls.at(-1) ?? { atMs: 0 };
    // Nothing fails at the end, and at most six pods are there.
    const late = world.backend.calls.filter(({ atMs }) => atMs > endMs - 10 * minuteMs).length;
    if (late > 10 * 70) failed.push(`seed ${seed}: ${late} calls in the last ten minutes`);
    objects += world.backend.objects.size;
    await world.node.stop();
    if (world.clock.pending > 0) failed.push(`seed ${seed}: ${world.clock.pending} timers are left`);
  }

  expect(failed).toEqual([]);
  expect(objects).toBeGreaterThan(seeds * 2);
}, 120_000);

test("a thousand pods that do not change cost few calls", async () => {
  const clock = new VirtualClock();
  const backend = new FakeBackend({
    clock,
    random: new SeededRandom(1),
    limits: { describeBatch: 100, rates: { read: [{ burst: 10, perSecond: 1 }] } },
    lists: { remote: false },
  });
  const node = new FakeNode(backend, clock);
  node.start();
  for (let index = 0; index < 1_000; index++) node.add(`uid-${index}`);
  await clock.advance(5 * minuteMs);
  backend.calls.length = 0;

  await clock.advance(5 * minuteMs);

  const count = (kind: string): number => backend.calls.filter((call) => call.kind === kind).length;
  expect(backend.objects.size).toBe(1_000);
  expect(count("create") + count("end")).toBe(0);
  // 10 lists are those of the node's own comparison.
  expect(count("list")).toBeLessThanOrEqual(10 + 13);
  // A third of the rate of one read a second.
  expect(count("describe")).toBeLessThanOrEqual(5 * 21);
  await node.stop();
  expect(clock.pending).toBe(0);
});
