import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import type { ResolvedPod } from "@virtual-kubelet/core";
import { NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { FakeBackend, type FakeBackendOptions } from "./test-support/fake-backend.ts";
import { FakeNode } from "./test-support/fake-node.ts";

const never = new AbortController().signal;
const ref = { namespace: "default", name: "pod-uid-0", uid: "uid-0" };

async function started(options: Partial<FakeBackendOptions> = {}): Promise<{ clock: VirtualClock; backend: FakeBackend; node: FakeNode }> {
  const clock = new VirtualClock();
  const backend = new FakeBackend({ clock, random: new SeededRandom(1), ...options });
  const node = new FakeNode(backend, clock);
  node.start();
  await clock.advance(1_000);
  return { clock, backend, node };
}

test("optional methods are absent if the back end lacks their calls", async () => {
  const { node } = await started();

  expect(node.provider).toMatchObject({ getContainerLogs: undefined, runInContainer: undefined, getStatsSummary: undefined });
  await node.stop();
});

test("each call for the pods lists them itself, also while another list is under way", async () => {
  const { clock, backend, node } = await started();
  const lists = (): number => backend.calls.filter(({ kind }) => kind === "list").length;
  const before = lists();
  const both = Promise.all([node.provider.getPods(never), node.provider.getPods(never)]);
  await clock.advance(1_000);
  await both;

  expect(lists() - before).toBe(2);
  await node.stop();
});

test("dispose leaves the pods running, and no timer", async () => {
  const { clock, backend, node } = await started();
  node.add("uid-0");
  await clock.advance(20_000);

  await node.stop();

  expect(backend.liveOf("uid-0")).toHaveLength(1);
  expect(clock.pending).toBe(0);
});

test("a container that ignores its end is killed when the grace has passed, and earlier after a second deletion", async () => {
  const { clock, backend, node } = await started({ lifeOf: () => ({ startsAfterMs: 0, stopMs: 900_000 }) });
  node.add("uid-0");
  await clock.advance(20_000);
  const beganMs = clock.monotonic();
  const first = node.provider.deletePod(ref, { gracePeriodSeconds: 600 }, never);
  await clock.advance(60_000);
  await first;
  expect(backend.liveOf("uid-0")).toHaveLength(1);

  const second = node.provider.deletePod(ref, { gracePeriodSeconds: 5 }, never);
  await clock.advance(4_500);
  await second;
  expect(backend.liveOf("uid-0")).toHaveLength(1);
  await clock.advance(1_000);

  expect(backend.liveOf("uid-0")).toHaveLength(0);
  expect(backend.objects.get("uid-0-0")?.endsMs).toBeGreaterThanOrEqual(beganMs + 65_000);
  await clock.advance(30_000);
  expect(node.reports.get("uid-0")).toEqual({ ref, gone: true });
  await node.stop();
});

test("an end between the last description and the first list is seen with that list", async () => {
  const { clock, backend, node } = await started({
    lists: { remote: false },
    lifeOf: () => ({ startsAfterMs: 0, endsAfterMs: 3_000 }),
    limits: { keepsEndedMs: 3_600_000 },
  });
  node.add("uid-0");
  await clock.advance(10_000);

  expect(backend.calls.some(({ kind, atMs }) => kind === "describe" && atMs < 4_000)).toBe(true);
  expect(node.reports.get("uid-0")).toMatchObject({ status: { phase: "Succeeded" } });
  await node.stop();
});

test("a pod that the back end has shown and lost is told to be gone, although new objects may still be invisible", async () => {
  const { clock, backend, node } = await started({ limits: { visibleAfterMs: 600_000 }, lists: { remote: false } });
  node.add("uid-0");
  await clock.advance(300_000);
  expect(node.reports.get("uid-0")).toMatchObject({ status: { phase: "Running" } });
  const told: unknown[] = [];
  node.provider.notifyPods((update) => void told.push(update));

  backend.objects.clear();
  await clock.advance(60_000);

  expect(told).toContainEqual({ ref, gone: true });
  await node.stop();
});

test("a pod between two objects keeps its number after a restart of the program", async () => {
  const { clock, backend, node } = await started();
  const pod = {
    metadata: { namespace: "default", name: "pod-uid-0", uid: "uid-0" },
    status: {
      containerStatuses: [
        { name: "main", image: "app", imageID: "", ready: false, restartCount: 0, lastState: { terminated: { exitCode: 1 } } },
      ],
    },
  };

  const create = node.provider.createPod(pod, {} as ResolvedPod, never);
  await clock.advance(1_000);
  await create;

  expect([...backend.objects.keys()]).toEqual(["uid-0-1"]);
  await node.stop();
});

test("a list is incomplete while the tags of an object that had to be described cannot be read", async () => {
  const { clock, backend, node } = await started({ lists: { identity: false, remote: false } });
  backend.put("odd", { kind: "unreadable", why: "tags: expected texts" });

  const listed = node.provider.getPods(never);
  await clock.advance(1_000);

  expect(await listed).toEqual({ pods: [], complete: false });
  await node.stop();
});

test("a pod whose object cannot be read is listed with the status that Kubernetes has of it", async () => {
  const { clock, backend, node } = await started();
  const ref = node.add("uid-0");
  await clock.advance(20_000);
  await node.stop();
  const pod = node.pods.get("uid-0");
  if (pod) pod.status = { phase: "Running", podIP: "192.0.2.1", containerStatuses: [] };
  for (const object of backend.objects.values()) object.tags = { kind: "unreadable", ref, why: "the state is no text" };
  node.start();
  await clock.advance(1_000);

  const listed = node.provider.getPods(never);
  await clock.advance(1_000);

  expect((await listed).pods).toMatchObject([{ ref, status: { phase: "Running", podIP: "192.0.2.1" } }]);
  await node.stop();
});

test("a container that the pod's object does not have is not found, and the message names those that it has", async () => {
  const clock = new VirtualClock();
  const backend = new FakeBackend({ clock, random: new SeededRandom(1) });
  backend.logSnapshot = async () => ({ text: "output\n", hasTimestamps: false });
  const node = new FakeNode(backend, clock);
  node.start();
  node.add("uid-0");
  await clock.advance(20_000);

  const options = { follow: false, previous: false, timestamps: false };
  await expect(node.provider.getContainerLogs?.(ref, "other", options, never)).rejects.toThrow(/container other of pod .* has only main/);
  await node.stop();
});

test("a copy of a pod's object that had to be described is left alone, also where every create makes an object", async () => {
  const { clock, backend, node } = await started({ lists: { identity: false, remote: false }, limits: { idempotency: "none" } });
  node.add("uid-0");
  await clock.advance(20_000);
  const [object] = backend.liveOf("uid-0");
  if (object) backend.put("copy", object.tags, { hasOtherName: true });

  await clock.advance(600_000);

  expect(backend.violations).toEqual([]);
  expect(backend.objects.get("copy")?.endsMs).toBeUndefined();
  await node.stop();
});

test("an ended object that the back end keeps does not revive its deleted pod", async () => {
  const { clock, backend, node } = await started({ limits: { keepsEndedMs: 3_600_000 } });
  node.add("uid-0");
  await clock.advance(20_000);
  node.delete("uid-0");
  await clock.advance(60_000);
  expect(node.reports.get("uid-0")).toEqual({ ref, gone: true });
  backend.calls.length = 0;

  await clock.advance(600_000);

  expect(backend.of("uid-0")).toHaveLength(1);
  expect(backend.calls.filter(({ kind }) => kind !== "list")).toEqual([]);
  await node.stop();
});

test("what belonged to a deleted pod is freed once, as soon as the back end can do it, and after the pod is gone", async () => {
  const { clock, backend, node } = await started();
  const tries: unknown[] = [];
  Object.assign(backend, {
    release: async ({ uid }: typeof ref) => {
      tries.push([uid, backend.of(uid).length]);
      if (tries.length < 3) throw new UnavailableError("the network's API does not answer");
    },
  });
  node.add("uid-0");
  await clock.advance(20_000);
  node.delete("uid-0");

  await clock.advance(600_000);

  expect(tries).toEqual([
    ["uid-0", 0],
    ["uid-0", 0],
    ["uid-0", 0],
  ]);
  await node.stop();
});

test("a release that hangs does not hold up the end of the program", async () => {
  const { clock, backend, node } = await started();
  let isAsked = false;
  Object.assign(backend, { release: () => ((isAsked = true), new Promise(() => {})) });
  node.add("uid-0");
  await clock.advance(20_000);
  node.delete("uid-0");
  await clock.advance(60_000);

  await node.stop();
  expect([isAsked, clock.pending]).toEqual([true, 0]);
});

test("the output of a container's previous run is that of the object before", async () => {
  const clock = new VirtualClock();
  const backend = new FakeBackend({
    clock,
    random: new SeededRandom(1),
    lifeOf: ({ attempt }) =>
      attempt === 0 ? { startsAfterMs: 0, endsAfterMs: 60_000, exitCode: 1, runsAgain: true } : { startsAfterMs: 0 },
  });
  backend.logSnapshot = async ({ id }) => ({ text: `output of ${id}\n`, hasTimestamps: false });
  const node = new FakeNode(backend, clock);
  node.start();
  await clock.advance(1_000);
  node.add("uid-0");
  const previous = async (): Promise<string> => {
    const options = { follow: false, previous: true, timestamps: false };
    const { data } = (await node.provider.getContainerLogs?.(ref, "main", options, never)) ?? {};
    let text = "";
    for await (const piece of data ?? []) text += piece.toString();
    return text;
  };
  await clock.advance(30_000);
  await expect(previous()).rejects.toBeInstanceOf(NotFoundError);

  await clock.advance(120_000);

  expect(backend.liveOf("uid-0").map(({ id }) => id)).toEqual(["uid-0-1"]);
  expect(await previous()).toBe("output of uid-0-0\n");
  await node.stop();
});
