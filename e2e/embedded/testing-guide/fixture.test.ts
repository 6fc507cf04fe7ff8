import { CoreV1Api, KubeConfig } from "@kubernetes/client-node";
import { clusterTest } from "@virtual-kubelet/embedded-apiserver/vitest";
import { expect } from "vitest";

const shop = { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop", labels: { team: "red" } } };
const test = clusterTest({ objects: [shop] });

test("each test has a cluster of its own, which begins with the same objects", async ({ cluster }) => {
  const config = new KubeConfig();
  config.loadFromString(cluster.kubeconfig());

  const { items } = await config.makeApiClient(CoreV1Api).listNamespace({ labelSelector: "team" });

  expect(items.map(({ metadata }) => metadata?.name)).toEqual(["shop"]);
});
