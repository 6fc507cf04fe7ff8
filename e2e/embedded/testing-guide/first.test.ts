import { CoreV1Api, KubeConfig } from "@kubernetes/client-node";
import { startApiServer } from "@virtual-kubelet/embedded-apiserver";
import { expect, test } from "vitest";

test("a config map is read as it was written", async () => {
  await using cluster = await startApiServer();
  const config = new KubeConfig();
  config.loadFromString(cluster.kubeconfig());
  const api = config.makeApiClient(CoreV1Api);

  await api.createNamespacedConfigMap({ namespace: "default", body: { metadata: { name: "colours" }, data: { sky: "blue" } } });

  const { data } = await api.readNamespacedConfigMap({ namespace: "default", name: "colours" });
  expect(data).toEqual({ sky: "blue" });
});
