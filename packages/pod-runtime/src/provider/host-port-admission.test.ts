import type { Pod } from "@virtual-kubelet/core";
import { terminalReasonOf } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { NodeRig } from "../test-support/node-rig.ts";
import { podWith } from "../test-support/pod-rig.ts";

function podOnPort(uid: string, hostPort: number): Pod {
  const pod = podWith({ restartPolicy: "Never", containers: [{ name: "app", image: "app:1", ports: [{ containerPort: 80, hostPort }] }] });
  return { ...pod, metadata: { ...pod.metadata, name: uid, uid } };
}

async function reasonFor(rig: NodeRig, pod: Pod): Promise<string | undefined> {
  return rig.create(pod).then(() => undefined, terminalReasonOf);
}

test("a pod that asks for a port which another pod has is refused, and nothing of it is made", async () => {
  const rig = new NodeRig();
  rig.start();
  await rig.create(podOnPort("a", 8080));

  expect(await reasonFor(rig, podOnPort("b", 8080))).toBe("NodePorts");
  await rig.clock.advance(0);
  expect(rig.runtime.begun).toHaveLength(1);
  expect(await reasonFor(rig, podOnPort("c", 8081))).toBeUndefined();
});

test("a pod that has ended takes no port, and one that runs keeps its own over a restart of the program", async () => {
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
