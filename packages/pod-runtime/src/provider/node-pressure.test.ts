import type { NodeStats, PodRef } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { evictionRules } from "../eviction/eviction-thresholds.ts";
import { FakeStorage } from "../test-support/fake-storage.ts";
import { NodeRig } from "../test-support/node-rig.ts";
import { podWith } from "../test-support/pod-rig.ts";
import type { PodRuntimeProviderOptions } from "./provider-options.ts";

const time = "2026-01-01T00:00:00Z";
const rules = evictionRules({ evictionHard: { "memory.available": "100Mi" } }, { isAllocatableEnforced: false });

/** A node with so many mebibytes left at each look. */
function nodeWith(left: { mebibytes: number }): Partial<PodRuntimeProviderOptions> {
  const nodeStats = (): Promise<NodeStats> =>
    Promise.resolve({
      nodeName: "n",
      startTime: time,
      memory: { time, availableBytes: left.mebibytes * 2 ** 20, workingSetBytes: 2 ** 30 },
    });
  return { nodeStats, eviction: { rules } };
}

test("a pod that runs is evicted with a kubelet's status, and one that comes is refused until the condition has gone", async () => {
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

test("an evicted pod's volumes go with it, and those of a pod that has failed by itself stay", async () => {
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

test("a critical pod goes on", async () => {
  const rig = new NodeRig();
  rig.start(nodeWith({ mebibytes: 50 }));
  const ref = await rig.create(podWith({ priority: 2_000_000_000, containers: [{ name: "app", image: "app:1" }] }));
  await rig.clock.advance(60_000);

  expect(rig.provider.evictPod(ref, { message: "full" })).toBe(false);
  expect(rig.status("u1").phase).toBe("Running");
});

test("nothing is evicted, refused or told where eviction is not asked for", async () => {
  const rig = new NodeRig();
  rig.start({ ...nodeWith({ mebibytes: 50 }), eviction: undefined });
  await rig.create(podWith({ containers: [{ name: "app", image: "app:1" }] }));
  await rig.clock.advance(60_000);

  expect([rig.status("u1").phase, rig.provider.pressureConditions]).toEqual(["Running", []]);
});
