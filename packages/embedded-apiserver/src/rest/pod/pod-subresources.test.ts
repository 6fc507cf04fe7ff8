import { expect, test } from "vitest";
import {
  boundPod,
  patches,
  podPath,
  podsPath,
  startTestServer,
  type TestResponse,
  type TestServer,
} from "../../test-support/test-server.ts";

test("a binding sets a pod's node and its condition PodScheduled", async () => {
  await using server = await startTestServer();
  await server.request("POST", podsPath, boundPod("a", { nodeName: "" }));

  const { status, body } = await server.request("POST", `${podPath("a")}/binding`, {
    apiVersion: "v1",
    kind: "Binding",
    metadata: { name: "a", annotations: { by: "me" } },
    target: { kind: "Node", name: "n2" },
  });

  expect(status).toBe(201);
  expect(body).toEqual({ kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 });
  const pod = (await server.request("GET", podPath("a"))).body;
  expect(pod).toMatchObject({
    metadata: { annotations: { by: "me" }, generation: 1 },
    spec: { nodeName: "n2" },
    status: { conditions: [{ type: "PodScheduled", status: "True", lastProbeTime: null, lastTransitionTime: "2026-01-01T00:00:00Z" }] },
  });
});

test("a binding can be posted to the collection, too", async () => {
  await using server = await startTestServer();
  await server.request("POST", podsPath, boundPod("a", { nodeName: "" }));

  const { status } = await server.request("POST", "/api/v1/namespaces/default/bindings", {
    metadata: { name: "a" },
    target: { name: "n2" },
  });

  expect(status).toBe(201);
  expect((await server.request("GET", podPath("a"))).body.spec.nodeName).toBe("n2");
});

test("a pod is bound only once, and not while it is being deleted", async () => {
  await using server = await startTestServer();
  await server.request("POST", podsPath, boundPod("a"));
  await server.request("POST", podsPath, { ...boundPod("b", { nodeName: "" }), metadata: { name: "b", finalizers: ["x/y"] } });
  await server.request("DELETE", podPath("b"));
  const bind = (name: string) => server.request("POST", `${podPath(name)}/binding`, { metadata: { name }, target: { name: "n2" } });

  expect(await bind("a")).toMatchObject({
    status: 409,
    body: { message: 'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "n1"' },
  });
  expect(await bind("b")).toMatchObject({
    status: 409,
    body: { message: 'Operation cannot be fulfilled on pods/binding "b": pod b is being deleted, cannot be assigned to a host' },
  });
  expect(await bind("c")).toMatchObject({ status: 404, body: { message: 'pods "c" not found' } });
  const another = { metadata: { name: "a", uid: "other" }, target: { name: "n2" } };
  expect((await server.request("POST", `${podPath("a")}/binding`, another)).body.message).toMatch(
    /^Operation cannot be fulfilled on pods "a": StorageError: invalid object, Code: 4, Key: \/registry\/pods\/default\/a, .*UID in precondition: other,/,
  );
});

test("an eviction marks the pod as disrupted and deletes it", async () => {
  await using server = await startTestServer();
  await server.request("POST", podsPath, boundPod("a"));

  const { status } = await server.request("POST", `${podPath("a")}/eviction`, {
    apiVersion: "policy/v1",
    kind: "Eviction",
    metadata: { name: "a" },
    deleteOptions: { gracePeriodSeconds: 7 },
  });

  expect(status).toBe(201);
  expect((await server.request("GET", podPath("a"))).body).toMatchObject({
    metadata: { deletionGracePeriodSeconds: 7 },
    status: { conditions: [{ type: "DisruptionTarget", status: "True", reason: "EvictionByEvictionAPI" }] },
  });
});

test("ephemeral containers can be added, but neither changed nor removed", async () => {
  await using server = await startTestServer();
  await server.request("POST", podsPath, boundPod("a"));
  const path = `${podPath("a")}/ephemeralcontainers`;
  const patch = (image: string): object => ({ spec: { nodeName: "n2", ephemeralContainers: [{ name: "dbg", image }] } });

  const added = await server.request("PATCH", path, patch("busybox"), patches.strategic);
  const changed = await server.request("PATCH", path, patch("other"), patches.strategic);
  const removed = await server.request("PATCH", path, { spec: { ephemeralContainers: null } }, patches.merge);

  expect(added).toMatchObject({
    status: 200,
    body: { metadata: { generation: 2 }, spec: { nodeName: "n1", ephemeralContainers: [{ name: "dbg", image: "busybox" }] } },
  });
  expect(changed).toMatchObject({
    status: 422,
    body: { message: expect.stringContaining('existing ephemeral containers "dbg" may not be changed') },
  });
  expect(removed).toMatchObject({
    status: 422,
    body: { message: expect.stringContaining('existing ephemeral containers "dbg" may not be removed') },
  });
});

test("an ephemeral container is checked like any other", async () => {
  await using server = await startTestServer();
  await server.request("POST", podsPath, boundPod("a"));

  const { status, body } = await server.request(
    "PATCH",
    `${podPath("a")}/ephemeralcontainers`,
    { spec: { ephemeralContainers: [{ name: "dbg" }] } },
    patches.strategic,
  );

  expect(status).toBe(422);
  expect(body.message).toBe('Pod "a" is invalid: spec.ephemeralContainers[0].image: Required value');
});

async function startWithResizablePod(): Promise<TestServer> {
  const server = await startTestServer();
  await server.request("POST", "/api/v1/nodes", { metadata: { name: "n1" }, status: { allocatable: { cpu: "2", memory: "1Gi" } } });
  const resources = { requests: { cpu: "100m" }, limits: { cpu: "1" } };
  await server.request("POST", podsPath, boundPod("a", { containers: [{ name: "c", image: "busybox", resources }] }));
  return server;
}

function resize(server: TestServer, spec: object): Promise<TestResponse> {
  return server.request("PATCH", `${podPath("a")}/resize`, { spec }, patches.strategic);
}

test("a resize changes the containers' CPU and memory, nothing else", async () => {
  await using server = await startWithResizablePod();

  const { status, body } = await resize(server, {
    nodeName: "n2",
    containers: [{ name: "c", image: "other", resources: { requests: { cpu: "200m" } } }],
  });

  expect(status).toBe(200);
  expect(body).toMatchObject({
    metadata: { generation: 2 },
    spec: { nodeName: "n1", containers: [{ name: "c", image: "busybox", resources: { requests: { cpu: "200m" }, limits: { cpu: "1" } } }] },
  });
});

test.each([
  [
    "more than the node has",
    { containers: [{ name: "c", resources: { requests: { cpu: "3" }, limits: { cpu: "3" } } }] },
    403,
    'pods "a" is forbidden: node didn\'t have enough allocatable resources: cpu, requested: 3000, allocatable: 2000',
  ],
  [
    "another quality of service",
    { containers: [{ name: "c", resources: { requests: { cpu: "1", memory: "1Mi" }, limits: { cpu: "1", memory: "1Mi" } } }] },
    422,
    "Pod QOS Class may not change as a result of resizing",
  ],
  [
    "another container",
    { containers: [{ name: "d", image: "i" }] },
    422,
    "spec.containers: Forbidden: containers may not be added or removed on resize",
  ],
  [
    "no limit any more",
    { containers: [{ name: "c", resources: { limits: null } }] },
    422,
    "spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed",
  ],
  [
    "another resource",
    { containers: [{ name: "c", resources: { requests: { "x.io/gpu": "1" }, limits: { "x.io/gpu": "1" } } }] },
    422,
    "spec: Forbidden: only cpu and memory resources are mutable",
  ],
  [
    "a request above the limit",
    { containers: [{ name: "c", resources: { requests: { cpu: "1500m" } } }] },
    422,
    "must be less than or equal to cpu limit of 1",
  ],
])("a resize to %s is refused", async (_name, spec, code, message) => {
  await using server = await startWithResizablePod();

  const { status, body } = await resize(server, spec);

  expect(status).toBe(code);
  expect(body.message).toContain(message);
});

test("a resize needs the pod's node", async () => {
  await using server = await startWithResizablePod();
  await server.request("DELETE", "/api/v1/nodes/n1");

  const { status, body } = await resize(server, { containers: [{ name: "c", resources: { requests: { cpu: "200m" } } }] });

  expect(status).toBe(403);
  expect(body.message).toBe('pods "a" is forbidden: node "n1" not found');
});
