import { systemRandom, VirtualClock } from "@virtual-kubelet/clock";
import { QuotaExceededError, isNotFound } from "@virtual-kubelet/errdefs";
import { noMetrics, silentLogger } from "@virtual-kubelet/kube-client";
import type { Pod, PodRef, PodUpdate, Provider, ResolvedPod } from "@virtual-kubelet/core";
import { beforeEach, expect, test } from "vitest";
import { RecordingProvider, type RecordingProviderOptions } from "./recording-provider.ts";

const { signal } = new AbortController();
let clock: VirtualClock;

beforeEach(() => {
  clock = new VirtualClock();
});

test("calls are recorded with their virtual times and how they ended", async () => {
  const recording = new RecordingProvider({ clock });
  const provider = await open(recording);
  recording.script("deletePod", { delayMs: 300, times: 1 });

  await provider.createPod(pod("u1"), unresolved, signal);
  await clock.advance(100);
  const deleting = provider.deletePod(ref("u1"), { gracePeriodSeconds: 5 }, signal);
  await clock.advance(300);
  await deleting;
  await provider.getPod(ref("u1"), signal).catch(() => undefined);

  expect(recording.calls).toMatchObject([
    { method: "createPod", ref: ref("u1"), startedAtMs: 0, endedAtMs: 0, outcome: "returned" },
    { method: "deletePod", ref: ref("u1"), gracePeriodSeconds: 5, startedAtMs: 100, endedAtMs: 400, outcome: "returned" },
    { method: "getPod", ref: ref("u1"), startedAtMs: 400, outcome: "threw" },
  ]);
  expect(recording.violations).toEqual([]);
});

test("a second create adopts the pod, changes are reported, and the pod is gone after its delete", async () => {
  const recording = new RecordingProvider({ clock, startDelayMs: 1000 });
  const provider = await open(recording);
  const updates = listen(provider);

  await provider.createPod(pod("u1"), unresolved, signal);
  await provider.createPod(pod("u1"), unresolved, signal);
  await clock.advance(1000);
  await provider.deletePod(ref("u1"), { gracePeriodSeconds: 1 }, signal);
  await clock.advance(1000);

  expect(updates.map((update) => ("gone" in update ? "gone" : update.status.phase))).toEqual([
    "Pending",
    "Running",
    "Running",
    "Succeeded",
    "gone",
  ]);
  expect([recording.creates("u1"), recording.deletes("u1")]).toEqual([1, 1]);
  await expect(provider.deletePod(ref("u1"), { gracePeriodSeconds: 1 }, signal)).rejects.toSatisfy(isNotFound);
});

test("concurrent calls for one pod and a second live instance are recorded as violations", async () => {
  const recording = new RecordingProvider({ clock });
  const provider = await open(recording);
  recording.script("createPod", { delayMs: 100 });

  const creating = provider.createPod(pod("u1"), unresolved, signal);
  const other = provider.createPod(pod("u2"), unresolved, signal);
  const updating = provider.updatePod(pod("u1"), unresolved, signal, { previous: undefined, parts: [] });
  await clock.advance(100);
  await Promise.all([creating, other, updating]);
  recording.backend.create({ ref: ref("u2"), owner: { clusterId: "cluster", nodeName: "node" }, containers: [], initContainers: [] });

  expect(recording.violations).toEqual(["updatePod of u1 began while createPod was under way", "pod u2 has 2 live instances"]);
});

test("a script can fail a call before or after its effect, for some calls or for one pod", async () => {
  const recording = new RecordingProvider({ clock });
  const provider = await open(recording);
  recording.script("createPod", { uid: "u1", times: 1, error: new QuotaExceededError("no room") });
  recording.script("createPod", { uid: "u2", times: 1, errorAfter: new Error("lost") });

  await expect(provider.createPod(pod("u1"), unresolved, signal)).rejects.toThrow("no room");
  await expect(provider.createPod(pod("u2"), unresolved, signal)).rejects.toThrow("lost");
  expect([recording.creates("u1"), recording.creates("u2")]).toEqual([0, 1]);

  await provider.createPod(pod("u1"), unresolved, signal);
  await provider.createPod(pod("u2"), unresolved, signal);
  expect([recording.creates("u1"), recording.creates("u2")]).toEqual([1, 1]);
});

test("a gated call waits until it is released or aborted, or ignores the abort", async () => {
  const recording = new RecordingProvider({ clock });
  const provider = await open(recording);
  const gate = Promise.withResolvers<void>();
  const controller = new AbortController();
  recording.script("createPod", { uid: "u1", until: gate.promise });
  recording.script("createPod", { uid: "u2", until: gate.promise, ignoreAbort: true });

  const obedient = provider.createPod(pod("u1"), unresolved, controller.signal);
  const careless = provider.createPod(pod("u2"), unresolved, controller.signal);
  controller.abort(new Error("out of time"));
  await expect(obedient).rejects.toThrow("out of time");
  gate.resolve();
  await careless;

  expect([recording.creates("u1"), recording.creates("u2")]).toEqual([0, 1]);
});

test("the back end outlives the node: a second provider finds the pods of its owner", async () => {
  const recording = new RecordingProvider({ clock });
  const first = await open(recording);
  const updates = listen(first);
  await first.createPod(pod("u1"), unresolved, signal);
  await first[Symbol.asyncDispose]?.();

  const second = await open(recording);
  recording.backend.setPodIP("u1", "10.1.1.1");

  expect(await second.getPods(signal)).toMatchObject({ complete: true, pods: [{ ref: ref("u1"), status: { podIP: "10.1.1.1" } }] });
  expect(updates).toHaveLength(1);
  expect((await (await open(recording, "other")).getPods(signal)).pods).toEqual([]);
});

test("a polled provider does not notify; a notifying provider can be made to report anything", async () => {
  expect((await open(new RecordingProvider({ clock, mode: "poll" }))).notifyPods).toBeUndefined();

  const recording = new RecordingProvider({ clock });
  const updates = listen(await open(recording));
  recording.report({ ref: ref("never-made"), gone: true });

  expect(updates).toEqual([{ ref: ref("never-made"), gone: true }]);
});

test("the node is notified of its changed description", async () => {
  const recording = new RecordingProvider({ clock } satisfies RecordingProviderOptions);
  const provider = await open(recording);
  let announced = 0;
  provider.notifyNodeStatus?.(() => announced++);

  recording.describeNode({ capacity: { cpu: "1" } });

  expect(announced).toBe(1);
  expect(await provider.configureNode?.(signal)).toEqual({ capacity: { cpu: "1" } });
});

const unresolved: ResolvedPod = {
  environment: () => Promise.resolve([]),
  commandLine: () => Promise.resolve({ command: [], args: [] }),
  volume: () => Promise.resolve({ files: [] }),
  async *watchVolume() {},
  configMap: async () => ({}),
  secret: async () => ({}),
  serviceVariables: async () => [],
};

async function open(recording: RecordingProvider, nodeName = "node"): Promise<Provider> {
  return await recording.definition.create(
    {
      nodeName,
      clusterId: "cluster",
      nodeAddress: undefined,
      clusterDomain: "cluster.local",
      logger: silentLogger,
      metrics: noMetrics,
      clock,
      random: systemRandom,
      getSecret: () => Promise.reject(new Error("not used")),
      getConfigMap: () => Promise.reject(new Error("not used")),
      getServiceAccountToken: () => Promise.reject(new Error("not used")),
      resolvePod: () => unresolved,
      findPod: () => undefined,
      recordEvent: () => {},
    },
    {},
  );
}

function listen(provider: Provider): PodUpdate[] {
  const updates: PodUpdate[] = [];
  provider.notifyPods?.((update) => updates.push(update));
  return updates;
}

function ref(uid: string): PodRef {
  return { namespace: "default", name: `pod-${uid}`, uid };
}

function pod(uid: string): Pod {
  return { metadata: ref(uid), spec: { containers: [{ name: "main", image: "web:1" }] } };
}
