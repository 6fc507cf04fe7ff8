import { expect, test } from "vitest";
import { boundPod, startTestServer, type TestServer } from "../../test-support/test-server.ts";

const path = "/api/v1/namespaces/old";

async function startWithNamespace(controllers: boolean): Promise<TestServer> {
  const server = await startTestServer({ controllers });
  await server.request("POST", "/api/v1/namespaces", { metadata: { name: "old" } });
  return server;
}

test("a deleted namespace is first Terminating, then gone with its contents", async () => {
  await using server = await startWithNamespace(true);
  await server.request("POST", `${path}/configmaps`, { metadata: { name: "c" } });

  const { body } = await server.request("DELETE", path);
  await server.clock.advance(0);

  expect(body).toMatchObject({
    kind: "Namespace",
    metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" },
    status: { phase: "Terminating" },
  });
  expect((await server.request("GET", path)).status).toBe(404);
  expect((await server.request("GET", `${path}/configmaps`)).body.items).toEqual([]);
});

test("a namespace waits for a pod's grace period", async () => {
  await using server = await startWithNamespace(true);
  await server.request("POST", `${path}/pods`, boundPod("a"));
  await server.request("DELETE", path);
  await server.clock.advance(0);

  const waiting = await server.request("GET", path);
  const pod = await server.request("GET", `${path}/pods/a`);
  await server.request("DELETE", `${path}/pods/a`, { gracePeriodSeconds: 0 });

  expect(waiting.body.status.phase).toBe("Terminating");
  expect(waiting.body.status.conditions).toHaveLength(5);
  expect(waiting.body.status.conditions[3]).toMatchObject({
    type: "NamespaceContentRemaining",
    status: "True",
    message: "Some resources are remaining: pods. has 1 resource instances",
  });
  expect(pod.body.metadata.deletionGracePeriodSeconds).toBe(30);
  expect((await server.request("GET", path)).status).toBe(404);
});

test("without controllers a namespace stays until it is finalized by a client", async () => {
  await using server = await startWithNamespace(false);
  await server.request("DELETE", path);
  await server.clock.advance(60_000);
  const { body } = await server.request("GET", path);

  const { status } = await server.request("PUT", `${path}/finalize`, { ...body, spec: {} });

  expect(body.status.phase).toBe("Terminating");
  expect(status).toBe(200);
  expect((await server.request("GET", path)).status).toBe(404);
});

test("system namespaces cannot be deleted", async () => {
  await using server = await startTestServer();

  expect(await server.request("DELETE", "/api/v1/namespaces/kube-system")).toMatchObject({
    status: 403,
    body: { message: 'namespaces "kube-system" is forbidden: this namespace may not be deleted' },
  });
});
