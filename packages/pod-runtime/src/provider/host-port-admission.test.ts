import type { Pod } from "@virtual-kubelet/core";
import { terminalReasonOf } from "@virtual-kubelet/errdefs";
import { describe, expect, test } from "vitest";
import { retryMs } from "../pod/container-step.ts";
import { NodeRig } from "../test-support/node-rig.ts";
import { podWith } from "../test-support/pod-rig.ts";

function podOnPort(uid: string, hostPort: number): Pod {
  const pod = podWith({ restartPolicy: "Never", containers: [{ name: "app", image: "app:1", ports: [{ containerPort: 80, hostPort }] }] });
  return { ...pod, metadata: { ...pod.metadata, name: uid, uid } };
}

async function reasonFor(rig: NodeRig, pod: Pod): Promise<string | undefined> {
  return rig.create(pod).then(() => undefined, terminalReasonOf);
}

test("a pod that needs a port of another pod is refused, and nothing of it is created", async () => {
  const rig = new NodeRig();
  rig.start();
  await rig.create(podOnPort("a", 8080));

  expect(await reasonFor(rig, podOnPort("b", 8080))).toBe("NodePorts");
  await rig.clock.advance(0);
  expect(rig.runtime.begun).toHaveLength(1);
  expect(await reasonFor(rig, podOnPort("c", 8081))).toBeUndefined();
});

test("a pod that has ended holds no port, and a running one keeps its port over a restart of the program", async () => {
  const rig = new NodeRig({ "app/0": { afterMs: 1_000, exitCode: 0 } });
  rig.start();
  await rig.create(podOnPort("a", 8080));
  await rig.clock.advance(5_000);
  expect(rig.status("a").phase).toBe("Succeeded");

  await rig.create(podOnPort("b", 8080));
  await rig.clock.advance(0);
  rig.program.mortal.kill();
  rig.start();
  await rig.reconcile();
  expect(await reasonFor(rig, podOnPort("b", 8080))).toBeUndefined();
  expect(await reasonFor(rig, podOnPort("c", 8080))).toBe("NodePorts");
});

describe("a pod that needs a port of an ending pod", () => {
  async function rigWithEnding(): Promise<NodeRig> {
    const rig = new NodeRig();
    rig.start();
    const ref = await rig.create(podOnPort("a", 8080));
    await rig.clock.advance(0);
    rig.runtime.failNext("stopSandbox");
    rig.markDeleted("a", 30_000);
    await rig.provider.deletePod(ref, { gracePeriodSeconds: 30 }, rig.signal);
    await rig.clock.advance(0);
    return rig;
  }

  test("waits until the other's sandbox has stopped, names the other pod, and then starts at once", async () => {
    const rig = await rigWithEnding();
    expect(await reasonFor(rig, podOnPort("b", 8080))).toBeUndefined();
    await rig.clock.advance(0);
    expect([rig.runtime.begun.length, rig.status("b").phase, rig.pods.has("a")]).toEqual([1, "Pending", true]);
    expect(rig.events.at(-1)).toBe(
      "FailedCreatePodSandBox: Failed to create pod sandbox: wait for a port of the node: pod default/a, which is ending, still has it",
    );

    await rig.clock.advance(retryMs);
    expect([rig.runtime.begun.length, rig.status("b").phase, rig.pods.has("a")]).toEqual([2, "Running", false]);
  });

  test("is not admitted before another one that waits", async () => {
    const rig = await rigWithEnding();
    await rig.create(podOnPort("b", 8080));
    expect(await reasonFor(rig, podOnPort("c", 8080))).toBe("NodePorts");
  });

  test("does not fail if the API server has removed the other pod before the node was told to end it", async () => {
    const rig = new NodeRig();
    rig.start();
    const ref = await rig.create(podOnPort("a", 8080));
    await rig.clock.advance(0);
    rig.pods.delete("a");
    expect(await reasonFor(rig, podOnPort("b", 8080))).toBeUndefined();
    await rig.clock.advance(0);
    expect(rig.runtime.begun).toHaveLength(1);

    await rig.provider.deletePod(ref, { gracePeriodSeconds: 0 }, rig.signal);
    await rig.clock.advance(0);
    expect(rig.status("b").phase).toBe("Running");
  });
});
