import { expect, test } from "vitest";
import { boundPod, patches, podPath, podsPath, startTestServer } from "../test-support/test-server.ts";

test("a binding gives a pod its node, and says that it is scheduled", async () => {
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

test("a pod is bound once, and not while it is deleted", async () => {
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

test("ephemeral containers can be added, and then neither changed nor removed", async () => {
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

test("a resize changes the containers' resources, nothing else", async () => {
  await using server = await startTestServer();
  await server.request(
    "POST",
    podsPath,
    boundPod("a", { containers: [{ name: "c", image: "busybox", resources: { requests: { cpu: "100m" } } }] }),
  );

  const { status, body } = await server.request(
    "PATCH",
    `${podPath("a")}/resize`,
    { spec: { containers: [{ name: "c", image: "other", resources: { requests: { cpu: "200m" } } }] } },
    patches.strategic,
  );

  expect(status).toBe(200);
  expect(body).toMatchObject({
    metadata: { generation: 2 },
    spec: { containers: [{ name: "c", image: "busybox", resources: { requests: { cpu: "200m" } } }] },
  });
});

test("logs and exec are not served, and say so", async () => {
  await using server = await startTestServer();
  await server.request("POST", podsPath, boundPod("a"));

  expect(await server.request("GET", `${podPath("a")}/log`)).toMatchObject({
    status: 501,
    body: { reason: "NotImplemented", message: expect.stringContaining("pods/log is not served") },
  });
});
