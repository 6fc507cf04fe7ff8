import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { FakeBackend, type FakeBackendOptions, type FakeCall } from "../test-support/fake-backend.ts";
import { FakeNode } from "../test-support/fake-node.ts";

const defaultCallTimeoutMs = 120_000;

async function started(options: Partial<FakeBackendOptions> = {}): Promise<{ clock: VirtualClock; backend: FakeBackend; node: FakeNode }> {
  const clock = new VirtualClock();
  const backend = new FakeBackend({ clock, random: new SeededRandom(1), ...options });
  const node = new FakeNode(backend, clock);
  node.start();
  await clock.advance(1_000);
  return { clock, backend, node };
}

/** State of the container `main` that was reported last. */
function stateOf(node: FakeNode, uid: string): string | undefined {
  const report = node.reports.get(uid);
  return report && "status" in report ? Object.keys(report.status.containerStatuses?.[0]?.state ?? {})[0] : undefined;
}

const uidOf = (call: FakeCall): string => call.uid ?? call.ids[0]?.replace(/-\d+$/, "") ?? "";

test("fifty looks that are never answered do not hold up other pods, and are given up", async () => {
  const { clock, backend, node } = await started({ limits: { describeBatch: 1 }, lists: { remote: false } });
  const stuck = Array.from({ length: 50 }, (_, index) => `uid-stuck-${index}`);
  backend.hangs = (call) => call.kind === "describe" && uidOf(call).startsWith("uid-stuck");
  for (const uid of stuck) node.add(uid);
  await clock.advance(10_000);

  node.add("uid-other");
  await clock.advance(30_000);
  expect([stateOf(node, "uid-other"), stateOf(node, "uid-stuck-0")]).toEqual(["running", undefined]);
  node.delete("uid-other");
  await clock.advance(20_000);
  expect(node.reports.get("uid-other")).toMatchObject({ gone: true });

  backend.hangs = undefined;
  await clock.advance(defaultCallTimeoutMs);
  expect(new Set(stuck.map((uid) => stateOf(node, uid)))).toEqual(new Set(["running"]));
  await node.stop();
  expect(clock.pending).toBe(0);
});

test("no more than sixteen batches that are answered in time are under way at once", async () => {
  const { clock, backend, node } = await started({ limits: { describeBatch: 1 }, lists: { remote: false }, latencyMs: 2_000 });
  // Before the first list each create looks for the pod's object.
  await clock.advance(10_000);
  let [running, most] = [0, 0];
  const describe = backend.describe.bind(backend);
  backend.describe = async (ids, signal) => {
    most = Math.max(most, ++running);
    return describe(ids, signal).finally(() => running--);
  };
  for (let index = 0; index < 100; index++) node.add(`uid-${index}`);
  await clock.advance(60_000);

  expect(new Set([...node.pods.keys()].map((uid) => stateOf(node, uid)))).toEqual(new Set(["running"]));
  // The node's own lists describe four batches at a time besides.
  expect(most).toBeGreaterThanOrEqual(16);
  expect(most).toBeLessThanOrEqual(16 + 4);
  await node.stop();
});

test("a list that is never answered does not hold up the looks at pods, and is repeated after its deadline", async () => {
  const { clock, backend, node } = await started({ limits: { callTimeoutMs: 30_000 } });
  node.add("uid-0");
  await clock.advance(20_000);
  expect(stateOf(node, "uid-0")).toBe("running");
  backend.hangs = ({ kind }) => kind === "list";
  await clock.advance(60_000);
  backend.calls.length = 0;

  node.add("uid-1");
  await clock.advance(10_000);
  expect(stateOf(node, "uid-1")).toBe("running");
  backend.hangs = undefined;
  await clock.advance(90_000);

  expect(backend.calls.filter(({ kind }) => kind === "list").length).toBeGreaterThan(1);
  await node.stop();
  expect(clock.pending).toBe(0);
});

test("work around an object that is never done holds up neither other pods nor the lists", async () => {
  const { clock, backend, node } = await started();
  const settled: string[] = [];
  backend.settle = async ({ identity }) => {
    if (identity.ref.uid === "uid-0") await Promise.withResolvers<never>().promise;
    settled.push(identity.ref.uid);
  };
  backend.sweep = () => Promise.withResolvers<never>().promise;
  backend.release = () => Promise.withResolvers<never>().promise;
  node.add("uid-0");
  await clock.advance(700_000);
  backend.calls.length = 0;

  node.add("uid-1");
  await clock.advance(20_000);
  node.delete("uid-1");
  await clock.advance(60_000);

  expect(settled).toEqual(["uid-1"]);
  expect(node.reports.get("uid-1")).toMatchObject({ gone: true });
  expect(backend.calls.filter(({ kind }) => kind === "list").length).toBeGreaterThanOrEqual(5);
  await node.stop();
  expect(clock.pending).toBe(0);
});

test("a pod whose create is never answered has the object that the create has made, and no other", async () => {
  const { clock, backend, node } = await started({ limits: { idempotency: "none" } });
  backend.hangs = ({ kind, uid }) => kind === "create" && uid === "uid-0";
  node.add("uid-0");
  node.add("uid-1");
  await clock.advance(20_000);
  expect([stateOf(node, "uid-0"), stateOf(node, "uid-1")]).toEqual(["running", "running"]);

  await clock.advance(defaultCallTimeoutMs * 3);

  expect(backend.of("uid-0")).toHaveLength(1);
  expect(backend.violations).toEqual([]);
  await node.stop();
});

test("an end that is never answered is asked for again after its deadline, and the deletions of others go on", async () => {
  const { clock, backend, node } = await started();
  node.add("uid-0");
  node.add("uid-1");
  await clock.advance(20_000);
  backend.hangs = ({ kind, uid }) => kind === "end" && uid === "uid-0";
  node.delete("uid-0");
  node.delete("uid-1");
  await clock.advance(60_000);
  expect([node.pods.has("uid-0"), node.pods.has("uid-1")]).toEqual([true, false]);

  backend.hangs = undefined;
  await clock.advance(defaultCallTimeoutMs);

  expect(node.pods.has("uid-0")).toBe(false);
  await node.stop();
});

test("a provider is disposed of although nothing answers any more", async () => {
  const { clock, backend, node } = await started();
  node.add("uid-0");
  await clock.advance(20_000);
  backend.hangs = () => true;
  backend.release = () => Promise.withResolvers<never>().promise;
  node.add("uid-1");
  node.delete("uid-0");
  await clock.advance(60_000);

  await node.stop();

  expect(clock.pending).toBe(0);
});

/** Ids that the back end reports, as a test tells it to. */
class Reports {
  readonly #waiting: string[] = [];
  #next = Promise.withResolvers<void>();

  push(...ids: readonly string[]): void {
    this.#waiting.push(...ids);
    this.#next.resolve();
  }

  async *watch(signal: AbortSignal): AsyncGenerator<string, void, undefined> {
    signal.addEventListener("abort", () => this.#next.resolve());
    while (!signal.aborted) {
      await this.#next.promise;
      this.#next = Promise.withResolvers<void>();
      yield* this.#waiting.splice(0);
    }
  }
}

async function watched(options: Partial<FakeBackendOptions> = {}): Promise<Awaited<ReturnType<typeof started>> & { reports: Reports }> {
  const clock = new VirtualClock();
  const reports = new Reports();
  const backend = new FakeBackend({ clock, random: new SeededRandom(1), ...options });
  backend.watch = (signal) => reports.watch(signal);
  const node = new FakeNode(backend, clock);
  node.start();
  await clock.advance(5_000);
  return { clock, backend, node, reports };
}

test("reported objects of others cost one list when they are first seen, and none later", async () => {
  const { clock, backend, node, reports } = await watched();
  await clock.advance(60_000);
  const foreign = Array.from({ length: 20 }, (_, index) => `foreign-${index}`);
  for (const id of foreign) backend.put(id, { kind: "foreign" });
  // A copy is no pod either, and an object of another region is in no list.
  const owner = { clusterId: "cluster-1", nodeName: "node-1" };
  backend.put("copy", { kind: "pod", identity: { ref: { namespace: "n", name: "p", uid: "uid-9" }, owner, attempt: 0 } });
  const counts: number[] = [];
  for (let round = 0; round < 4; round++) {
    backend.calls.length = 0;
    reports.push(...foreign, "copy", "elsewhere");
    await clock.advance(30_000);
    counts.push(backend.calls.filter(({ kind }) => kind === "list").length);
  }

  // The node itself compares its pods every 30 s.
  expect(counts).toEqual([2, 1, 1, 1]);
  await node.stop();
});

test("unknown objects that are reported one after the other cost one list in five seconds at most, and the last one is listed too", async () => {
  const { clock, backend, node, reports } = await watched();
  await clock.advance(60_000);
  backend.calls.length = 0;
  for (let index = 0; index < 100; index++) {
    reports.push(`elsewhere-${index}`);
    await clock.advance(300);
  }
  const lastMs = clock.monotonic();
  await clock.advance(6_000);

  const lists = backend.calls.filter(({ kind }) => kind === "list").map(({ atMs }) => atMs);
  expect(lists.length).toBeLessThanOrEqual(36 / 5 + 2 + 1);
  expect(lists.length).toBeGreaterThan(5);
  expect(lists.at(-1)).toBeGreaterThanOrEqual(lastMs - 300);
  await node.stop();
});

test("an object that is reported while a list is under way is in the next list, which follows soon", async () => {
  const { clock, backend, node, reports } = await watched({ latencyMs: 2_000 });
  await clock.advance(60_000);
  backend.calls.length = 0;
  reports.push("elsewhere-0");
  await clock.advance(1_500);
  expect(backend.calls).toHaveLength(1);
  reports.push("elsewhere-1");
  await clock.advance(10_000);

  expect(backend.calls.filter(({ kind }) => kind === "list")).toHaveLength(2);
  await node.stop();
});

test("an object is settled once, after it has started, and again where that failed; the next object too", async () => {
  const settled: string[] = [];
  const clock = new VirtualClock();
  const lifeOf: FakeBackendOptions["lifeOf"] = ({ attempt }) =>
    attempt === 0 ? { startsAfterMs: 5_000, endsAfterMs: 60_000, exitCode: 1, runsAgain: true } : { startsAfterMs: 5_000 };
  const backend = new FakeBackend({ clock, random: new SeededRandom(1), lifeOf });
  backend.settle = async ({ id, remote }) => {
    settled.push(`${id} ${remote && backend.progressOf(remote)}`);
    if (settled.length === 1) throw new UnavailableError("no port yet");
  };
  const node = new FakeNode(backend, clock);
  node.start();
  await clock.advance(1_000);
  node.add("uid-0");
  await clock.advance(300_000);

  expect(settled).toEqual(["uid-0-0 running", "uid-0-0 running", "uid-0-1 running"]);
  await node.stop();
});

test("leftovers are searched for at most every ten minutes, with all pods that exist, and only after a complete list", async () => {
  const { clock, backend, node } = await started();
  const sweeps: { readonly atMs: number; readonly uids: readonly string[] }[] = [];
  backend.sweep = async (uids) => {
    sweeps.push({ atMs: clock.monotonic(), uids: [...uids].toSorted() });
    throw new UnavailableError("no answer");
  };
  backend.put("odd", { kind: "unreadable", why: "cut off", ref: { namespace: "default", name: "odd", uid: "uid-odd" } });
  node.pods.set("uid-odd", { metadata: { namespace: "default", name: "odd", uid: "uid-odd" } });
  backend.faults = { listIncomplete: 1 };
  node.add("uid-0");
  node.add("uid-1");
  await clock.advance(60_000);
  expect(sweeps).toEqual([]);
  backend.faults = {};
  await clock.advance(120_000);
  expect(sweeps.length).toBe(1);
  node.delete("uid-1");
  await clock.advance(620_000);

  expect(sweeps.map(({ uids }) => uids)).toEqual([
    ["uid-0", "uid-1", "uid-odd"],
    ["uid-0", "uid-odd"],
  ]);
  expect((sweeps[1]?.atMs ?? 0) - (sweeps[0]?.atMs ?? 0)).toBeGreaterThanOrEqual(600_000);
  await node.stop();
});
