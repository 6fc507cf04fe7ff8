import { CustomObjectsApi, KubeConfig } from "@kubernetes/client-node";
import { clusterTest } from "@virtual-kubelet/embedded-apiserver/vitest";
import { expect } from "vitest";

const schema = { type: "object", properties: { spec: { type: "object", properties: { size: { type: "integer", default: 1 } } } } };
const definition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "widgets", kind: "Widget" },
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }],
  },
};
const small = { apiVersion: "example.com/v1", kind: "Widget", metadata: { name: "small" }, spec: {} };
const test = clusterTest({ objects: [definition, small] });

test("widgets have a size, which is a number", async ({ cluster }) => {
  const config = new KubeConfig();
  config.loadFromString(cluster.kubeconfig());
  const api = config.makeApiClient(CustomObjectsApi);
  const widgets = { group: "example.com", version: "v1", namespace: "default", plural: "widgets" };

  const stored = await api.getNamespacedCustomObject({ ...widgets, name: "small" });
  const wrong = { ...small, metadata: { name: "wrong" }, spec: { size: "huge" } };

  expect(stored).toMatchObject({ spec: { size: 1 } });
  await expect(api.createNamespacedCustomObject({ ...widgets, body: wrong })).rejects.toMatchObject({ code: 422 });
});
