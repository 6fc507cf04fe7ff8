import { CoreV1Api, KubeConfig } from "@kubernetes/client-node";
import { startApiServer, VirtualClock } from "@virtual-kubelet/embedded-apiserver";
import { expect, test } from "vitest";

const node = {
  apiVersion: "v1",
  kind: "Node",
  metadata: { name: "n1" },
  status: { conditions: [{ type: "Ready", status: "True", reason: "KubeletReady" }] },
};
const pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web" },
  spec: { nodeName: "n1", containers: [{ name: "web", image: "nginx" }] },
};

test("pods are taken from a node that has said nothing for six minutes", async () => {
  const clock = new VirtualClock();
  await using cluster = await startApiServer({ clock, objects: [node, pod] });
  const config = new KubeConfig();
  config.loadFromString(cluster.kubeconfig());
  const api = config.makeApiClient(CoreV1Api);

  const waitedMs = await clock.runUntil(async () => {
    const { metadata } = await api.readNamespacedPod({ namespace: "default", name: "web" });
    return metadata?.deletionTimestamp !== undefined;
  });

  expect(waitedMs).toBeGreaterThanOrEqual(340_000);
  expect(waitedMs).toBeLessThanOrEqual(365_000);
});
