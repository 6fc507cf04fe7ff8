import { startApiServer } from "@virtual-kubelet/embedded-apiserver";
import { createKubeClient, resources, type Node, type Pod } from "@virtual-kubelet/kube-client";
import { eventually } from "@virtual-kubelet/testing";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ProgramRig, soon } from "./support/program-rig.ts";

const { signal } = new AbortController();

function farNode(name: string): Node {
  return {
    metadata: { name, labels: { "topology.kubernetes.io/zone": "a", "kubernetes.io/hostname": name } },
    spec: {},
    status: {
      capacity: { cpu: "4", memory: "8Gi", pods: "20" },
      allocatable: { cpu: "4", memory: "8Gi", pods: "20" },
      conditions: [{ type: "Ready", status: "True", reason: "KubeletReady", message: "kubelet is posting ready status" }],
    },
  };
}

test("with node.each a far node that joins has a virtual node, pods run on their far node alone, and a far node that is gone shows", async () => {
  await using rig = await ProgramRig.open();
  await using far = await startApiServer({
    objects: [{ apiVersion: "v1", kind: "Node", ...farNode("worker-1") }],
    controllers: false,
    serviceAccounts: true,
  });
  const client = createKubeClient(far.transport());
  await writeFile(join(rig.folder, "far.kubeconfig"), far.kubeconfig());
  const config = { cluster: { kubeconfig: "far.kubeconfig" }, node: { each: true }, usage: "none" };
  await writeFile(join(rig.folder, "far.json"), JSON.stringify(config));
  await using _program = rig.run("--provider kubernetes --provider-config far.json --nodename far --kubelet-port 0");
  await rig.nodeIsReady("far-worker-1");

  const { status } = await client.create(resources.nodes, farNode("worker-2"), { signal });
  expect(status?.capacity).toMatchObject({ cpu: "4" });
  await rig.nodeIsReady("far-worker-2");
  await rig.createPod("web", "far-worker-2");

  const farPod = await eventually(async (): Promise<Pod> => {
    const { items } = await client.list(resources.pods, { namespace: "default" }, { signal });
    expect(items).toHaveLength(1);
    return items[0] ?? {};
  }, soon);
  expect(JSON.stringify(farPod.spec)).toContain("worker-2");
  expect((await rig.node("far-worker-2")).metadata?.labels).toMatchObject({
    "topology.kubernetes.io/zone": "a",
    "kubernetes.io/hostname": "far-worker-2",
    "virtual-kubelet.io/discovered-by": "far",
  });
  await client.delete(resources.nodes, { name: "worker-1" }, {}, { signal });

  await eventually(async () => {
    const ready = (await rig.node("far-worker-1")).status?.conditions?.find(({ type }) => type === "Ready");
    expect(ready).toMatchObject({ status: "False", message: expect.stringContaining("worker-1") });
  }, soon);
  await rig.nodeIsReady("far-worker-2");
});
