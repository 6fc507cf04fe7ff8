import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import type { Api } from "./support/api.ts";
import { asNode } from "./support/as-user.ts";
import { configMapNamed, podNamed } from "./support/objects.ts";
import { test } from "./support/parity-test.ts";

const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

/** Creates a pod on a node that references a config map and a secret. */
async function boundPod(api: Api, core: string, node: string): Promise<{ metadata: { uid: string } }> {
  await api.create(`${core}/configmaps`, configMapNamed("used"));
  await api.create(`${core}/configmaps`, configMapNamed("unused"));
  await api.create(`${core}/secrets`, { metadata: { name: "used" } });
  const env = [{ name: "A", valueFrom: { configMapKeyRef: { name: "used", key: "a", optional: true } } }];
  return await api.create(
    `${core}/pods`,
    podNamed("web", {
      nodeName: node,
      automountServiceAccountToken: true,
      containers: [{ name: "main", image: "main:1", env }],
      volumes: [{ name: "s", secret: { secretName: "used" } }],
    }),
  );
}

test("a node can read only its own Node object", async ({ api, namespace }) => {
  const node = asNode(api, namespace);

  expect(await node("GET", "/api/v1/nodes")).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "nodes"},
      message: "nodes is forbidden: User \\"system:node:NAMESPACE\\" cannot list resource \\"nodes\\" in API group \\"\\" at the cluster scope: node 'NAMESPACE' cannot read all nodes, only its own Node object",
      reason: "Forbidden",
    }
  `);
  expect(await node("GET", "/api/v1/nodes/other")).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "nodes", name: "other"},
      message: "nodes \\"other\\" is forbidden: User \\"system:node:NAMESPACE\\" cannot get resource \\"nodes\\" in API group \\"\\" at the cluster scope: node 'NAMESPACE' cannot read 'other', only its own Node object",
      reason: "Forbidden",
    }
  `);
  expect((await node("GET", `/api/v1/nodes/${namespace}`)).status).toBe(404);
  expect((await node("GET", `/api/v1/nodes?fieldSelector=metadata.name%3D${namespace}`)).status).toBe(200);
});

test("a node registers itself, and may not set fields that would give it more rights", async ({ api, namespace }) => {
  const node = asNode(api, namespace);
  const path = `/api/v1/nodes/${namespace}`;

  expect(await node("POST", "/api/v1/nodes", { metadata: { name: "another" } })).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "nodes", name: "another"},
      message: 'nodes "another" is forbidden: node "NAMESPACE" is not allowed to modify node "another"',
      reason: "Forbidden",
    }
  `);
  expect(
    await node("POST", "/api/v1/nodes", {
      metadata: {
        name: namespace,
        labels: { "kubernetes.io/role": "a", "node-restriction.kubernetes.io/x": "b", "kubernetes.io/os": "c" },
      },
    }),
  ).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "nodes", name: "NAMESPACE"},
      message: 'nodes "NAMESPACE" is forbidden: node "NAMESPACE" is not allowed to set the following labels: kubernetes.io/role, node-restriction.kubernetes.io/x',
      reason: "Forbidden",
    }
  `);
  expect(
    (await node("POST", "/api/v1/nodes", { metadata: { name: namespace, labels: { "kubernetes.io/os": "linux", free: "1" } } })).status,
  ).toBe(201);
  const { body } = await node("GET", path);
  expect(
    await node("PUT", path, {
      ...body,
      spec: { taints: [{ key: "a", effect: "NoExecute" }] },
      metadata: { ...body.metadata, resourceVersion: "" },
    }),
  ).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "nodes", name: "NAMESPACE"},
      message: 'nodes "NAMESPACE" is forbidden: node "NAMESPACE" is not allowed to modify taints',
      reason: "Forbidden",
    }
  `);
  // The real server's controllers change the taints of a new node, so that its own write may conflict.
  await eventually(async () => {
    const { body: now } = await node("GET", path);
    const status = { ...now, status: { ...now.status, phase: "Running" } };
    delete status.metadata.resourceVersion;
    expect((await node("PUT", `${path}/status`, status)).status).toBe(200);
  });
  expect(await node("DELETE", path)).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "nodes", name: "NAMESPACE"},
      message: 'nodes "NAMESPACE" is forbidden: User "system:node:NAMESPACE" cannot delete resource "nodes" in API group "" at the cluster scope',
      reason: "Forbidden",
    }
  `);
  await api.delete(path);
});

test("a node can renew only its own lease", async ({ api, namespace }) => {
  const node = asNode(api, namespace);

  expect((await node("POST", leases, { metadata: { name: namespace }, spec: {} })).status).toBe(201);
  expect(await node("POST", leases, { metadata: { name: "other" }, spec: {} })).toMatchInlineSnapshot(`
    403 Failure {
      details: {group: "coordination.k8s.io", kind: "leases", name: "other"},
      message: 'leases.coordination.k8s.io "other" is forbidden: can only access node lease with the same name as the requesting node',
      reason: "Forbidden",
    }
  `);
  expect(await node("GET", `${leases}/other`)).toMatchInlineSnapshot(`
    403 Failure {
      details: {group: "coordination.k8s.io", kind: "leases", name: "other"},
      message: 'leases.coordination.k8s.io "other" is forbidden: User "system:node:NAMESPACE" cannot get resource "leases" in API group "coordination.k8s.io" in the namespace "kube-node-lease": can only access node lease with the same name as the requesting node',
      reason: "Forbidden",
    }
  `);
  expect(await node("GET", leases)).toMatchInlineSnapshot(`
    403 Failure {
      details: {group: "coordination.k8s.io", kind: "leases"},
      message: 'leases.coordination.k8s.io is forbidden: User "system:node:NAMESPACE" cannot list resource "leases" in API group "coordination.k8s.io" in the namespace "kube-node-lease": can only get, create, update, patch, or delete a node lease',
      reason: "Forbidden",
    }
  `);
  expect(await node("GET", `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${namespace}`)).toMatchInlineSnapshot(`
    403 Failure {
      details: {group: "coordination.k8s.io", kind: "leases", name: "NAMESPACE"},
      message: 'leases.coordination.k8s.io "NAMESPACE" is forbidden: User "system:node:NAMESPACE" cannot get resource "leases" in API group "coordination.k8s.io" in the namespace "NAMESPACE": can only access leases in the "kube-node-lease" system namespace',
      reason: "Forbidden",
    }
  `);
  expect((await node("DELETE", `${leases}/${namespace}`)).status).toBe(200);
});

test("a node can read the objects that its pods refer to, one by one", async ({ api, core, namespace }) => {
  await boundPod(api, core, namespace);
  const node = asNode(api, namespace);
  const other = asNode(api, "other");

  await eventually(async () => expect((await node("GET", `${core}/configmaps/used`)).status).toBe(200));
  expect((await node("GET", `${core}/secrets/used`)).status).toBe(200);
  expect((await node("GET", `${core}/secrets?fieldSelector=metadata.name%3Dused`)).status).toBe(200);
  expect(await node("GET", `${core}/configmaps/unused`)).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "configmaps", name: "unused"},
      message: "configmaps \\"unused\\" is forbidden: User \\"system:node:NAMESPACE\\" cannot get resource \\"configmaps\\" in API group \\"\\" in the namespace \\"NAMESPACE\\": no relationship found between node 'NAMESPACE' and this object",
      reason: "Forbidden",
    }
  `);
  expect(await other("GET", `${core}/secrets/used`)).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "secrets", name: "used"},
      message: "secrets \\"used\\" is forbidden: User \\"system:node:other\\" cannot get resource \\"secrets\\" in API group \\"\\" in the namespace \\"NAMESPACE\\": no relationship found between node 'other' and this object",
      reason: "Forbidden",
    }
  `);
  expect(await node("GET", `${core}/secrets`)).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "secrets"},
      message: 'secrets is forbidden: User "system:node:NAMESPACE" cannot list resource "secrets" in API group "" in the namespace "NAMESPACE": No Object name found',
      reason: "Forbidden",
    }
  `);
  expect(await node("PUT", `${core}/secrets/used`, {})).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "secrets", name: "used"},
      message: 'secrets "used" is forbidden: User "system:node:NAMESPACE" cannot update resource "secrets" in API group "" in the namespace "NAMESPACE": can only read resources of this type',
      reason: "Forbidden",
    }
  `);
  expect((await node("GET", `${core}/configmaps/kube-root-ca.crt`)).status).toBe(200);
});

test("a node can read the pods that are bound to it and write their status", async ({ api, core, namespace }) => {
  const pod = await boundPod(api, core, namespace);
  const node = asNode(api, namespace);
  const other = asNode(api, "other");

  await eventually(async () => expect((await node("GET", `${core}/pods/web`)).status).toBe(200));
  expect((await node("GET", `/api/v1/pods?fieldSelector=spec.nodeName%3D${namespace}`)).status).toBe(200);
  expect(await node("GET", "/api/v1/pods")).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "pods"},
      message: 'pods is forbidden: User "system:node:NAMESPACE" cannot list resource "pods" in API group "" at the cluster scope: can only list/watch pods with spec.nodeName field selector',
      reason: "Forbidden",
    }
  `);
  expect(await other("GET", `${core}/pods/web`)).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "pods", name: "web"},
      message: "pods \\"web\\" is forbidden: User \\"system:node:other\\" cannot get resource \\"pods\\" in API group \\"\\" in the namespace \\"NAMESPACE\\": no relationship found between node 'other' and this object",
      reason: "Forbidden",
    }
  `);
  expect(await other("PUT", `${core}/pods/web/status`, { ...pod, status: { phase: "Running" } })).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "pods", name: "web"},
      message: 'pods "web" is forbidden: node "other" can only update pod status for pods with spec.nodeName set to itself',
      reason: "Forbidden",
    }
  `);
  expect(await other("DELETE", `${core}/pods/web`)).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "pods", name: "web"},
      message: 'pods "web" is forbidden: node "other" can only delete pods with spec.nodeName set to itself',
      reason: "Forbidden",
    }
  `);
  expect(await other("POST", `${core}/pods/web/eviction`, { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "web" } }))
    .toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "pods", name: "web"},
      message: 'pods "web" is forbidden: node other can only evict pods with spec.nodeName set to itself',
      reason: "Forbidden",
    }
  `);
  expect(await node("PUT", `${core}/pods/web`, pod)).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "pods", name: "web"},
      message: 'pods "web" is forbidden: User "system:node:NAMESPACE" cannot update resource "pods" in API group "" in the namespace "NAMESPACE"',
      reason: "Forbidden",
    }
  `);
  expect(await node("POST", `${core}/pods`, podNamed("new", { nodeName: namespace }))).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "pods", name: "new"},
      message: 'pods "new" is forbidden: pod does not have "kubernetes.io/config.mirror" annotation, node "NAMESPACE" can only create mirror pods',
      reason: "Forbidden",
    }
  `);
  expect((await node("PUT", `${core}/pods/web/status`, { ...pod, status: { phase: "Running" } })).status).toBe(200);
  const labelled = { ...pod, metadata: { ...pod.metadata, labels: { a: "b" }, resourceVersion: "" } };
  expect(await node("PUT", `${core}/pods/web/status`, labelled)).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "pods", name: "web"},
      message: 'pods "web" is forbidden: node "NAMESPACE" cannot update labels through pod status',
      reason: "Forbidden",
    }
  `);
  expect((await node("DELETE", `${core}/pods/web`, { gracePeriodSeconds: 0 })).status).toBe(200);
});

test("a node gets tokens only for its own pods", async ({ api, core, namespace }) => {
  const { metadata } = await boundPod(api, core, namespace);
  const node = asNode(api, namespace);
  const path = `${core}/serviceaccounts/default/token`;
  const ask = async (as: typeof node, spec: object): Promise<{ status: number }> =>
    await as("POST", path, { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec });
  const boundObjectRef = { apiVersion: "v1", kind: "Pod", name: "web", uid: metadata.uid };

  await eventually(async () => expect((await ask(node, { boundObjectRef })).status).toBe(201));
  expect(await ask(asNode(api, "other"), { boundObjectRef })).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "serviceaccounts", name: "default"},
      message: "serviceaccounts \\"default\\" is forbidden: User \\"system:node:other\\" cannot create resource \\"serviceaccounts/token\\" in API group \\"\\" in the namespace \\"NAMESPACE\\": no relationship found between node 'other' and this object",
      reason: "Forbidden",
    }
  `);
  expect(await ask(node, {})).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "serviceaccounts", name: "default"},
      message: 'serviceaccounts "default" is forbidden: node requested token not bound to a pod',
      reason: "Forbidden",
    }
  `);
  expect(await ask(node, { boundObjectRef: { ...boundObjectRef, uid: "" } })).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "serviceaccounts", name: "default"},
      message: 'serviceaccounts "default" is forbidden: node requested token with a pod binding without a uid',
      reason: "Forbidden",
    }
  `);
  expect(await ask(node, { boundObjectRef: { ...boundObjectRef, uid: "x" } })).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "serviceaccounts", name: "default"},
      message: 'serviceaccounts "default" is forbidden: the UID in the bound object reference (x) does not match the UID in record. The object might have been deleted and then recreated',
      reason: "Forbidden",
    }
  `);
  expect(await ask(node, { boundObjectRef, audiences: ["vault"] })).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "serviceaccounts", name: "default"},
      message: 'serviceaccounts "default" is forbidden: audience "vault" not found in pod spec volume, system:node:NAMESPACE is not authorized to request tokens for this audience',
      reason: "Forbidden",
    }
  `);
  expect(await node("POST", `${core}/serviceaccounts/none/token`, {})).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "serviceaccounts", name: "none"},
      message: "serviceaccounts \\"none\\" is forbidden: User \\"system:node:NAMESPACE\\" cannot create resource \\"serviceaccounts/token\\" in API group \\"\\" in the namespace \\"NAMESPACE\\": no relationship found between node 'NAMESPACE' and this object",
      reason: "Forbidden",
    }
  `);
});

test("a node can also write events and create reviews, and nothing else", async ({ api, core, apps, namespace }) => {
  const node = asNode(api, namespace);

  expect((await node("GET", "/api/v1/services")).status).toBe(200);
  expect(await node("GET", `${apps}/deployments`)).toMatchInlineSnapshot(`
    403 Failure {
      details: {group: "apps", kind: "deployments"},
      message: 'deployments.apps is forbidden: User "system:node:NAMESPACE" cannot list resource "deployments" in API group "apps" in the namespace "NAMESPACE"',
      reason: "Forbidden",
    }
  `);
  expect(
    (await node("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", { spec: { user: "a", nonResourceAttributes: {} } })).status,
  ).toBe(201);
  expect((await node("POST", `${core}/events`, { metadata: { name: "a" }, involvedObject: { namespace } })).status).toBe(201);
});
