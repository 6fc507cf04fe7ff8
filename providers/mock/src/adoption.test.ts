import { VirtualClock } from "@virtual-kubelet/clock";
import type { Pod } from "@virtual-kubelet/core";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { MockRig, podOf, refOf, type PodShape } from "./test-support/mock-rig.ts";

/** The pod as the API server has it after the rig's last report. */
function atApiServer(pod: Pod, rig: MockRig<VirtualClock>): Pod {
  return { ...pod, status: structuredClone(rig.last) as NonNullable<Pod["status"]> };
}

/** A rig in which the pod ran for a while, and one of the next process, whose provider was asked for its pods, and to create that pod, after another while. */
async function restarted(
  shape: PodShape,
  ranMs: number,
  awayMs: number,
): Promise<{ before: MockRig<VirtualClock>; after: MockRig<VirtualClock> }> {
  const clock = new VirtualClock();
  const before = new MockRig(clock);
  const pod = podOf(shape);
  await before.create(pod);
  await clock.advance(ranMs);
  const left = atApiServer(pod, before);
  await before.provider[Symbol.asyncDispose]();
  await clock.advance(awayMs);
  const after = new MockRig(clock);
  after.listed = [left];
  await after.provider.getPods(after.signal);
  await after.create(left);
  return { before, after };
}

test.for<[name: string, shape: PodShape]>([
  ["a plain pod", {}],
  ["a pod on the host's network", { hostNetwork: true }],
  [
    "a pod with init containers",
    {
      initContainers: [
        { name: "first", image: "x" },
        { name: "side", image: "y", restartPolicy: "Always" },
      ],
    },
  ],
  ["a pod that has restarted", { script: { "exit-after": "100s" } }],
  ["a pod that is not ready yet", { script: { "ready-after": "1h" } }],
  [
    "a pod one of whose containers has ended",
    {
      restartPolicy: "Never",
      containers: [
        { name: "a", image: "x" },
        { name: "b", image: "y" },
      ],
      script: { "a.exit-after": "10s" },
    },
  ],
])("%s goes on in the next process with the same status", async ([, shape]) => {
  const { before, after } = await restarted(shape, 150_000, 20_000);

  expect(after.last).toEqual(before.last);
  expect(after.updates).toHaveLength(1);
});

test("a script goes on from the start of its container, also where a change was due while no process ran", async () => {
  const shape: PodShape = { restartPolicy: "Never", script: { "exit-after": "60s", "exit-code": "3" } };
  const running = await restarted(shape, 20_000, 10_000);
  expect(running.after.shown).toBe("Running: running ready");
  await running.after.clock.advance(30_000);
  expect(running.after.shown).toBe("Failed: exit 3");

  const { after } = await restarted(shape, 20_000, 100_000);
  expect(after.shown).toBe("Failed: exit 3");
});

test("a container that waits after a crash starts again at its time, and the next delay is twice as long", async () => {
  const { before, after } = await restarted({ script: { "exit-after": "5s", "exit-code": "1" } }, 11_000, 2_000);
  expect(before.shown).toBe("Running: CrashLoopBackOff #1");
  expect(after.last).toEqual(before.last);

  await after.clock.advance(6_000);
  expect(after.shown).toBe("Running: CrashLoopBackOff #1");
  await after.clock.advance(1_500);
  expect(after.shown).toBe("Running: running ready #2");
  await after.clock.advance(5_500);
  expect(after.last.containerStatuses?.[0]?.state?.waiting?.message).toContain("back-off 20s");
});

test("a pod's address stays its own: new pods do not get it, and it is free when the pod has ended", async () => {
  const clock = new VirtualClock();
  const before = new MockRig(clock, { podCIDR: "10.0.0.0/29" });
  const pod = podOf();
  await before.create(pod);
  const left = atApiServer(pod, before);
  const after = new MockRig(clock, { podCIDR: "10.0.0.0/29" });
  await after.create(left);
  expect(after.last.podIP).toBe(before.last.podIP);

  const addresses: (string | undefined)[] = [];
  for (let number = 0; number < 5; number++) {
    await after.create(podOf({ name: `new-${number}` }));
    addresses.push(after.last.podIP);
  }
  expect(addresses).not.toContain(before.last.podIP);
  await expect(after.create(podOf({ name: "one-too-many" }))).rejects.toThrow("are in use");
  await after.provider.deletePod({ namespace: "default", name: "web", uid: "uid-web" }, { gracePeriodSeconds: 0 });
  await after.create(podOf({ name: "next" }));
  expect(after.last.podIP).toBe(before.last.podIP);
});

test("the first inventory of the next process names the pods that run, and no new pod gets the address of one", async () => {
  const clock = new VirtualClock();
  const before = new MockRig(clock);
  const [old, deleted, ended, own]: Pod[] = ["old", "deleted", "ended", "own"].map((name) => podOf({ name })) as [Pod, Pod, Pod, Pod];
  for (const pod of [old, deleted, ended, own]) {
    await before.create(pod);
    Object.assign(pod, atApiServer(pod, before));
  }
  Object.assign(deleted.metadata ?? {}, { deletionTimestamp: "2026-01-01T00:00:00Z" });
  Object.assign(ended.status ?? {}, { phase: "Failed" });
  // A pod without containers of a mock provider starts anew.
  Object.assign(own.status ?? {}, { containerStatuses: [] });
  expect([old, deleted, ended, own].map(({ status }) => status?.podIP)).toEqual(["10.88.0.1", "10.88.0.2", "10.88.0.3", "10.88.0.4"]);

  const after = new MockRig(clock);
  after.listed = [old, deleted, ended, own];
  const { pods } = await after.provider.getPods(after.signal);
  expect(pods.map(({ ref, status }) => [ref.name, status.podIP])).toEqual([
    ["old", "10.88.0.1"],
    ["deleted", "10.88.0.2"],
  ]);
  const addresses: (string | undefined)[] = [];
  for (const pod of [podOf({ name: "new-1" }), podOf({ name: "new-2" }), own]) {
    await after.create(pod);
    addresses.push(after.last.podIP);
  }
  expect(addresses).toEqual(["10.88.0.3", "10.88.0.4", "10.88.0.5"]);
  await after.provider.deletePod(refOf(deleted), { gracePeriodSeconds: 0 });
  expect((await after.provider.getPods(after.signal)).pods.map(({ ref }) => ref.name)).toEqual(["old", "new-1", "new-2", "own"]);
});

test.each(["getPods", "createPod"] as const)("pods that ran before go on once, from the first call of %s", async (call) => {
  const clock = new VirtualClock();
  const before = new MockRig(clock, { podCIDR: "10.0.0.0/30" });
  const [lasting, brief] = [podOf({ name: "lasting" }), podOf({ name: "brief" })];
  await before.create(lasting);
  Object.assign(lasting, atApiServer(lasting, before));
  await before.create(brief);
  Object.assign(brief, atApiServer(brief, before));
  const after = new MockRig(clock, { podCIDR: "10.0.0.0/30" });
  after.listed = [brief, lasting];

  if (call === "getPods") await after.provider.getPods(after.signal);
  await expect(after.create(podOf({ name: "new" }))).rejects.toThrow("are in use");
  await after.provider.deletePod(refOf(brief), { gracePeriodSeconds: 0 });
  await after.create(podOf({ name: "new" }));

  expect(after.last.podIP).toBe("10.0.0.2");
  expect((await after.provider.getPods(after.signal)).pods.map(({ ref }) => ref.name)).toEqual(["lasting", "new"]);
});

test("a pod whose script is malformed by now keeps no other pod from going on, and its creation says why", async () => {
  const clock = new VirtualClock();
  const before = new MockRig(clock);
  const [broken, sound] = [podOf({ name: "broken" }), podOf({ name: "sound" })];
  for (const pod of [broken, sound]) {
    await before.create(pod);
    Object.assign(pod, atApiServer(pod, before));
  }
  Object.assign(broken.metadata ?? {}, { annotations: { "mock.virtual-kubelet.io/exit-after": "soon" } });
  const after = new MockRig(clock);
  after.listed = [broken, sound];

  const { pods } = await after.provider.getPods(after.signal);
  expect(pods.map(({ ref }) => ref.name)).toEqual(["sound"]);
  await expect(after.create(broken)).rejects.toThrow('"soon"');
});

test("an inventory that is aborted while many pods go on is completed by the next", async () => {
  const clock = new VirtualClock();
  const before = new MockRig(clock);
  const pods = Array.from({ length: 1_200 }, (_, number) => podOf({ name: `pod-${number}` }));
  for (const pod of pods) {
    await before.create(pod);
    Object.assign(pod, atApiServer(pod, before));
  }
  const after = new MockRig(clock);
  after.listed = pods;
  const stop = new AbortController();
  const first = after.provider.getPods(stop.signal);
  stop.abort(new Error("late"));
  await expect(first).rejects.toThrow("late");

  const second = after.provider.getPods(after.signal);
  await clock.advance(0);
  expect((await second).pods).toHaveLength(1_200);
  expect(after.updates).toHaveLength(1_200);
});

test.for<[name: string, time: unknown]>([
  ["malformed", "yesterday"],
  ["impossible", "2026-13-45T00:00:00Z"],
  ["not RFC 3339", "28 Nov 2026"],
  ["null", null],
  ["Go's zero time", "0001-01-01T00:00:00Z"],
])("a pod goes on whose times at the API server are %s, as if they were absent", async ([, time]) => {
  const clock = new VirtualClock();
  const before = new MockRig(clock);
  const [crashing, running] = [podOf({ script: { "exit-after": "60s", "exit-code": "1" } }), podOf({ name: "plain" })];
  await before.create(running);
  const runningThere = atApiServer(running, before);
  await before.create(crashing);
  await clock.advance(125_000);
  const crashingThere = atApiServer(crashing, before);
  expect(before.shown).toBe("Running: CrashLoopBackOff #1");
  const states = [runningThere, crashingThere].flatMap(({ status }) => status?.containerStatuses ?? []);
  for (const { state, lastState } of states) {
    if (state?.running) Object.assign(state.running, { startedAt: time });
    if (lastState?.terminated) Object.assign(lastState.terminated, { startedAt: time, finishedAt: time });
  }
  for (const { status } of [runningThere, crashingThere]) Object.assign(status ?? {}, { startTime: time });
  const after = new MockRig(clock);

  const now = "2026-01-01T00:02:05Z";
  const plain = await after.create(runningThere);
  expect(after.shown).toBe("Running: running ready");
  expect(after.last.containerStatuses?.[0]?.state?.running).toEqual({ startedAt: now });
  expect((await after.provider.getPod(plain)).createdAt).toBe(now);
  const log = await after.provider.getContainerLogs(plain, "main", { follow: false, previous: false, timestamps: true }, after.signal);
  expect(await text(log.data)).toMatch(/^2026-01-01T00:02:05.000Z container main /);

  await after.create(crashingThere);
  expect(after.shown).toBe("Running: CrashLoopBackOff #1");
  expect(after.last.containerStatuses?.[0]?.lastState?.terminated).toMatchObject({ startedAt: now, finishedAt: now });
  await clock.advance(10_000);
  expect(after.shown).toBe("Running: running ready #2");
});

test("a pod that ran does not wait for its secrets again", async () => {
  const env = [{ name: "KEY", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }];
  const { before, after } = await restarted({ containers: [{ name: "main", image: "nginx", env }] }, 1_000, 1_000);

  expect([before.environments, after.environments]).toEqual([["main"], []]);
});

test("a pod that has not started, or ran at another back end, starts anew", async () => {
  const waiting = await restarted({ script: { "start-delay": "60s" } }, 10_000, 20_000);
  expect(waiting.after.shown).toBe("Pending: ContainerCreating");
  await waiting.after.clock.advance(60_000);
  expect(waiting.after.shown).toBe("Running: running ready");

  const rig = new MockRig(new VirtualClock());
  await rig.create(podOf());
  const elsewhere = structuredClone(atApiServer(podOf(), rig));
  for (const status of elsewhere.status?.containerStatuses ?? []) Object.assign(status, { containerID: "docker://1", restartCount: 7 });
  const fresh = new MockRig(rig.clock);
  await fresh.create(elsewhere);
  expect(fresh.shown).toBe("Running: running ready");
});
