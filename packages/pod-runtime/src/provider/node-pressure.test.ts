import type { NodeStats, PodRef } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { evictionRules } from "../eviction/eviction-thresholds.ts";
import { FakeStorage } from "../test-support/fake-storage.ts";
import { NodeRig } from "../test-support/node-rig.ts";
import { podWith } from "../test-support/pod-rig.ts";
import type { PodRuntimeProviderOptions } from "./provider-options.ts";

const time = "2026-01-01T00:00:00Z";
const rules = evictionRules({ evictionHard: { "memory.available": "100Mi" } }, { isAllocatableEnforced: false });

/** A node with this much memory left at each check, in mebibytes. */
function nodeWith(left: { mebibytes: number }): Partial<PodRuntimeProviderOptions> {
  const nodeStats = (): Promise<NodeStats> =>
    Promise.resolve({
      nodeName: "n",
      startTime: time,
      memory: { time, availableBytes: left.mebibytes * 2 ** 20, workingSetBytes: 2 ** 30 },
    });
  return { nodeStats, eviction: { rules } };
}

test("a running pod is evicted with a kubelet's status, and new pods are refused until the condition is over", async () => {
  const rig = new NodeRig();
  const left = { mebibytes: 500 };
  rig.start(nodeWith(left));
  let changes = 0;
  rig.provider.notifyNodeStatus(() => changes++);
  await rig.create(podWith({ containers: [{ name: "app", image: "app:1" }] }));
  await rig.clock.advance(10_000);
  expect(rig.status("u1").phase).toBe("Running");

  left.mebibytes = 50;
  await rig.clock.advance(10_000);
  left.mebibytes = 500;

  const message = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. ";
  expect(rig.status("u1")).toMatchObject({ phase: "Failed", reason: "Evicted", message });
  expect(rig.status("u1").conditions).toContainEqual({
    type: "DisruptionTarget",
    status: "True",
    reason: "TerminationByKubelet",
    message,
  });
  expect(rig.events).toContain(`Evicted: ${message}`);
  expect(rig.provider.pressureConditions).toContainEqual({
    type: "MemoryPressure",
    status: "True",
    reason: "KubeletHasInsufficientMemory",
    message: "kubelet has insufficient memory available",
  });
  const next = podWith({ containers: [{ name: "app", image: "app:1" }] });
  const creating = (): Promise<PodRef> => rig.create({ ...next, metadata: { ...next.metadata, uid: "u2" } });
  await expect(creating()).rejects.toMatchObject({ reason: "Evicted" });
  await rig.clock.advance(320_000);
  expect(rig.provider.pressureConditions.map(({ status }) => status)).toEqual(["False", "False", "False"]);
  expect(changes).toBe(2);
  await creating();
});

test("a pod that started during another measurement is measured, and not evicted for lack of figures", async () => {
  const rig = new NodeRig();
  const left = { mebibytes: 500 };
  rig.start(nodeWith(left));
  const pod = podWith({ containers: [{ name: "app", image: "app:1" }] });
  await rig.create(pod);
  await rig.clock.advance(1_000);
  const gate = rig.runtime.holdNext("stats");
  const scrape = rig.provider.getStatsSummary(rig.signal);
  await rig.create({ ...pod, metadata: { ...pod.metadata, uid: "u2" } });
  left.mebibytes = 50;
  await rig.clock.advance(10_000);
  gate.resolve();
  await rig.clock.advance(0);
  await scrape;

  expect([rig.status("u1").reason, rig.status("u2").phase]).toEqual(["Evicted", "Running"]);
});

test("the volumes of an evicted pod are removed, and those of a pod that has failed by itself stay", async () => {
  const rig = new NodeRig({ "own/0": { afterMs: 1_000, exitCode: 1 } });
  const storage = new FakeStorage();
  rig.start({ storage });
  await rig.create(podWith({ restartPolicy: "Never", containers: [{ name: "own", image: "app:1" }] }));
  const other = podWith({ containers: [{ name: "app", image: "app:1" }] });
  const ref = await rig.create({ ...other, metadata: { ...other.metadata, uid: "u2" } });
  await rig.clock.advance(2_000);
  expect([rig.status("u1").phase, [...storage.pods]]).toEqual(["Failed", ["u1", "u2"]]);

  rig.provider.evictPod(ref, { message: "full" });
  await rig.clock.advance(0);

  expect([rig.status("u2").reason, [...storage.pods]]).toEqual(["Evicted", ["u1"]]);
});

test("with a full disk the containers of ended pods are removed, their statuses stay, and nothing is started again", async () => {
  const rig = new NodeRig({ "done/0": { afterMs: 1_000, exitCode: 0 } });
  let isFull = false;
  const available = (): number => (isFull && rig.runtime.sandboxes.size > 1 ? 50 : 900);
  const full = {
    nodeStats: (): Promise<NodeStats> =>
      Promise.resolve({ nodeName: "n", startTime: time, fs: { time, capacityBytes: 1_000, availableBytes: available() } }),
    eviction: { rules: evictionRules({ evictionHard: { "nodefs.available": "10%" } }, { isAllocatableEnforced: false }) },
  };
  rig.start(full);
  const done = podWith({ restartPolicy: "OnFailure", containers: [{ name: "done", image: "app:1" }] });
  const runs = podWith({ containers: [{ name: "runs", image: "app:1" }] });
  await rig.create(done);
  await rig.create({ ...runs, metadata: { ...runs.metadata, uid: "u2" } });
  await rig.clock.advance(5_000);
  const status = rig.status("u1");
  expect([status.phase, rig.runtime.sandboxes.size]).toEqual(["Succeeded", 2]);

  isFull = true;
  await rig.clock.advance(40_000);

  expect([rig.runtime.sandboxes.size, rig.runtime.begun.length]).toEqual([1, 2]);
  expect(rig.status("u1")).toEqual(status);
  expect(rig.status("u2").phase).toBe("Running");
  rig.start(full);
  await rig.clock.advance(60_000);
  expect([rig.runtime.sandboxes.size, rig.runtime.begun.length]).toEqual([1, 2]);
  await rig.provider.deletePod({ namespace: "default", name: "web", uid: "u1" }, { gracePeriodSeconds: 0 }, rig.signal).catch(() => {});
  await rig.clock.advance(1_000);
  expect([rig.runtime.sandboxes.size, rig.runtime.begun.length]).toEqual([1, 2]);
});

test("a critical pod continues to run", async () => {
  const rig = new NodeRig();
  rig.start(nodeWith({ mebibytes: 50 }));
  const ref = await rig.create(podWith({ priority: 2_000_000_000, containers: [{ name: "app", image: "app:1" }] }));
  await rig.clock.advance(60_000);

  expect(rig.provider.evictPod(ref, { message: "full" })).toBe(false);
  expect(rig.status("u1").phase).toBe("Running");
});

test("without the option nothing is evicted, refused or reported", async () => {
  const rig = new NodeRig();
  rig.start({ ...nodeWith({ mebibytes: 50 }), eviction: undefined });
  await rig.create(podWith({ containers: [{ name: "app", image: "app:1" }] }));
  await rig.clock.advance(60_000);

  expect([rig.status("u1").phase, rig.provider.pressureConditions]).toEqual(["Running", []]);
});
