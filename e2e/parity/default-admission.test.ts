import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import { podNamed } from "./support/objects.ts";
import { test } from "./support/parity-test.ts";

test("an ingress without a class gets the default one", async ({ api, namespace }) => {
  const classes = "/apis/networking.k8s.io/v1/ingressclasses";
  const annotations = { "ingressclass.kubernetes.io/is-default-class": "true" };
  await api.create(classes, { metadata: { name: namespace, annotations }, spec: { controller: "example.com/a" } });
  const path = `/apis/networking.k8s.io/v1/namespaces/${namespace}/ingresses`;
  const spec = { defaultBackend: { service: { name: "s", port: { number: 80 } } } };
  await eventually(async () => {
    const { body } = await api.post(`${path}?dryRun=All`, { metadata: { name: "a" }, spec });
    expect((body as { spec: object }).spec).toMatchObject({ ingressClassName: namespace });
  });
  const legacy = await api.create(path, { metadata: { name: "b", annotations: { "kubernetes.io/ingress.class": "x" } }, spec });
  expect((legacy as { spec: object }).spec).not.toHaveProperty("ingressClassName");
  const own = await api.create(path, { metadata: { name: "c" }, spec: { ...spec, ingressClassName: "other" } });
  expect((own as { spec: object }).spec).toMatchObject({ ingressClassName: "other" });
  await api.delete(`${classes}/${namespace}`);
});

test("a pod on a node has the node's zone and region as labels", async ({ api, core, namespace }) => {
  const labels = { "topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r", "example.com/rack": "k" };
  await api.create("/api/v1/nodes", { metadata: { name: namespace, labels } });
  const expected = { "topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r" };
  await eventually(async () => {
    const { body } = await api.post(`${core}/pods?dryRun=All`, podNamed("a", { nodeName: namespace }, { labels: { a: "b" } }));
    expect((body as { metadata: object }).metadata).toMatchObject({ labels: { a: "b", ...expected } });
  });
  await api.create(`${core}/pods`, podNamed("b", {}, { labels: { "topology.kubernetes.io/zone": "wrong" } }));
  await api.create(`${core}/pods/b/binding`, { metadata: { name: "b" }, target: { kind: "Node", name: namespace } });
  expect(((await api.get(`${core}/pods/b`)).body as { metadata: { labels: object } }).metadata.labels).toEqual(expected);
  await api.delete(`${core}/pods/b?gracePeriodSeconds=0`);
  await api.delete(`/api/v1/nodes/${namespace}`);
});

test("an attributes class that a claim names is not deleted before the claim", async ({ api, core, namespace }) => {
  const path = `/apis/storage.k8s.io/v1/volumeattributesclasses/${namespace}`;
  const created = await api.create("/apis/storage.k8s.io/v1/volumeattributesclasses", {
    metadata: { name: namespace },
    driverName: "d",
    parameters: { a: "b" },
  });
  expect((created as { metadata: object }).metadata).toMatchObject({ finalizers: ["kubernetes.io/vac-protection"] });
  await api.create(`${core}/persistentvolumeclaims`, {
    metadata: { name: "c" },
    spec: {
      accessModes: ["ReadWriteOnce"],
      storageClassName: "",
      volumeAttributesClassName: namespace,
      resources: { requests: { storage: "1Gi" } },
    },
  });
  // An event about the claim says that the controllers have it in their cache, in which they look for claims that name a class.
  await eventually(async () => expect((await api.get(`${core}/events?fieldSelector=involvedObject.name=c`)).body.items).not.toEqual([]), {
    timeoutMs: 60_000,
  });
  await api.delete(path);
  expect((await api.get(path)).status).toBe(200);
  await api.delete(`${core}/persistentvolumeclaims/c`);
  await eventually(async () => expect((await api.get(path)).status).toBe(404), { timeoutMs: 60_000 });
});
