import { expect, test } from "vitest";
import { patches, startTestServer } from "../test-support/test-server.ts";

test("a new cluster has its namespaces and the service kubernetes", async () => {
  await using server = await startTestServer();

  const { body } = await server.request("GET", "/api/v1/namespaces");

  expect(body.items.map((item: { metadata: { name: string } }) => item.metadata.name)).toEqual([
    "default",
    "kube-node-lease",
    "kube-public",
    "kube-system",
  ]);
  expect((await server.request("GET", "/api/v1/namespaces/default/services/kubernetes")).body.spec.clusterIP).toBe("10.96.0.1");
  const authentication = await server.request("GET", "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication");
  expect(authentication.body.data["client-ca-file"]).toBe(server.server.caPem);
});

test("each namespace has its default service account and the cluster's authority, which are recreated when deleted", async () => {
  await using server = await startTestServer();
  await server.request("POST", "/api/v1/namespaces", { metadata: { name: "new" } });

  await server.request("DELETE", "/api/v1/namespaces/new/serviceaccounts/default");

  expect((await server.request("GET", "/api/v1/namespaces/new/serviceaccounts/default")).status).toBe(200);
  expect((await server.request("GET", "/api/v1/namespaces/new/configmaps/kube-root-ca.crt")).body.data["ca.crt"]).toBe(server.server.caPem);
});

test("a new cluster has the roles, priority levels and API services of the real server", async () => {
  await using server = await startTestServer();
  const namesOf = async (path: string): Promise<readonly string[]> =>
    (await server.request("GET", path)).body.items.map((item: { metadata: { name: string } }) => item.metadata.name);

  const roles = await namesOf("/apis/rbac.authorization.k8s.io/v1/clusterroles");
  const services = await namesOf("/apis/apiregistration.k8s.io/v1/apiservices");
  const { versions } = (await server.request("GET", "/apis/apps")).body;

  expect(roles).toHaveLength(69);
  expect(roles).toContain("system:controller:job-controller");
  expect(await namesOf("/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations")).toContain("exempt");
  expect(services).toContain(`${String(versions[0].version)}.apps`);
  for (const name of services) {
    const [, version = "", group = ""] = /^([^.]+)\.(.*)$/.exec(name) ?? [];
    expect((await server.request("GET", group === "" ? `/api/${version}` : `/apis/${group}/${version}`)).status, name).toBe(200);
  }
});

test("the initial objects have the server as their manager, like those of the real server", async () => {
  await using server = await startTestServer();
  const managers = async (path: string): Promise<unknown> => {
    const { managedFields = [] } = (await server.request("GET", path)).body.metadata;
    return managedFields.map(({ manager, operation, subresource }: Record<string, string>) => [manager, operation, subresource]);
  };

  expect(await managers("/apis/rbac.authorization.k8s.io/v1/clusterroles/cluster-admin")).toEqual([
    ["kube-apiserver", "Update", undefined],
  ]);
  expect(await managers("/api/v1/namespaces/default")).toEqual([["kube-apiserver", "Update", undefined]]);
  expect(await managers("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/exempt")).toEqual([
    ["api-priority-and-fairness-config-consumer-v1", "Apply", "status"],
    ["api-priority-and-fairness-config-producer-v1", "Update", undefined],
  ]);
});

test("each version of custom resources has an API service", async () => {
  await using server = await startTestServer();
  const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const service = "/apis/apiregistration.k8s.io/v1/apiservices/v1.example.com";
  await server.request("POST", crds, {
    metadata: { name: "things.example.com" },
    spec: {
      group: "example.com",
      scope: "Cluster",
      names: { plural: "things", kind: "Thing" },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
    },
  });
  await server.clock.settle();
  const added = await server.request("GET", service);
  await server.request("PATCH", `${crds}/things.example.com`, { spec: { names: { shortNames: ["th"] } } }, patches.merge);
  await server.clock.settle();
  const changed = await server.request("GET", service);
  await server.request("DELETE", `${crds}/things.example.com`);
  await server.clock.settle();

  expect(added.body).toMatchObject({
    metadata: { labels: { "kube-aggregator.kubernetes.io/automanaged": "true" } },
    spec: { group: "example.com", version: "v1", groupPriorityMinimum: 1000, versionPriority: 100 },
    status: { conditions: [{ type: "Available", status: "True", reason: "Local" }] },
  });
  expect(changed.body.metadata.uid).toBe(added.body.metadata.uid);
  expect((await server.request("GET", service)).status).toBe(404);
});

test("each cluster IP has an IPAddress while its service exists", async () => {
  await using server = await startTestServer();
  const { body } = await server.request("POST", "/api/v1/namespaces/default/services", {
    metadata: { name: "web" },
    spec: { ports: [{ port: 80 }] },
  });
  const path = `/apis/networking.k8s.io/v1/ipaddresses/${String(body.spec.clusterIP)}`;

  const held = await server.request("GET", path);
  await server.request("DELETE", "/api/v1/namespaces/default/services/web");

  expect(held.body.spec.parentRef).toEqual({ resource: "services", namespace: "default", name: "web" });
  expect((await server.request("GET", path)).status).toBe(404);
});

test("without controllers nothing is given to namespaces, pods need no service account, and aggregated roles are empty", async () => {
  await using server = await startTestServer({ serviceAccounts: false });
  await server.request("POST", "/api/v1/namespaces", { metadata: { name: "new" } });
  const pod = await server.request("POST", "/api/v1/namespaces/new/pods", {
    metadata: { name: "a" },
    spec: { containers: [{ name: "c", image: "busybox" }] },
  });

  expect((await server.request("GET", "/api/v1/namespaces/new/serviceaccounts")).body.items).toEqual([]);
  expect((await server.request("GET", "/api/v1/namespaces/new/configmaps")).body.items).toEqual([]);
  expect(pod.status).toBe(201);
  expect(pod.body.spec.serviceAccountName).toBeUndefined();
  expect(pod.body.spec.volumes).toBeUndefined();
  expect((await server.request("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/admin")).body.rules).toBeNull();
});

test.each([
  ["127.0.0.1", 404],
  ["192.0.2.1", 200],
])("the service kubernetes of a server at %s: its endpoints are answered with %i", async (host, status) => {
  await using server = await startTestServer({ host, port: 6443 });

  const endpoints = await server.request("GET", "/api/v1/namespaces/default/endpoints/kubernetes");
  const slice = await server.request("GET", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes");

  expect([endpoints.status, slice.status]).toEqual([status, status]);
  if (status === 200) {
    expect(endpoints.body.subsets).toEqual([{ addresses: [{ ip: host }], ports: [{ name: "https", port: 6443, protocol: "TCP" }] }]);
    expect(slice.body.endpoints).toEqual([{ addresses: [host], conditions: { ready: true } }]);
  }
});
