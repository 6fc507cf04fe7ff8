import { expect, test } from "vitest";
import { backgroundClock } from "@virtual-kubelet/clock";
import { configMapKind } from "../../kinds/config/config-map.ts";
import { namespaceKind } from "../../kinds/namespace.ts";
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
    status: "False",
    message: "All content successfully removed",
  });
  expect(pod.body.metadata.deletionGracePeriodSeconds).toBe(30);
  expect((await server.request("GET", path)).status).toBe(404);
});

test("other objects are deleted after the pods", async () => {
  await using server = await startWithNamespace(true);
  await server.request("POST", `${path}/pods`, boundPod("a"));
  await server.request("POST", `${path}/configmaps`, { metadata: { name: "c" } });
  await server.request("DELETE", path);
  await server.clock.advance(0);

  const whileThereArePods = await server.request("GET", `${path}/configmaps/c`);
  await server.request("DELETE", `${path}/pods/a`, { gracePeriodSeconds: 0 });
  await server.clock.advance(0);

  expect(whileThereArePods.status).toBe(200);
  expect((await server.request("GET", path)).status).toBe(404);
});

test("pods that outlive their grace period are reported", async () => {
  await using server = await startWithNamespace(true);
  await server.request("POST", `${path}/pods`, boundPod("a", { terminationGracePeriodSeconds: 5 }));
  await server.request("DELETE", path);
  await server.clock.advance(9_000);

  expect((await server.request("GET", path)).body.status.conditions[2]).toMatchObject({
    type: "NamespaceDeletionContentFailure",
    status: "True",
    reason: "ContentDeletionFailed",
    message:
      "Failed to delete all resource types, 1 remaining: unexpected items still remain in namespace: old for gvr: /v1, Resource=pods",
  });
});

test("requests are served while a namespace with many objects is deleted, and the work grows with their number", async () => {
  await using server = await startTestServer({ controllers: true, clock: backgroundClock });
  const { cluster } = server.server;
  const turnsOf = async (count: number): Promise<number> => {
    const name = `with-${String(count)}`;
    cluster.create(namespaceKind, { metadata: { name } });
    for (let index = 0; index < count; index++) cluster.create(configMapKind, { metadata: { name: `c${String(index)}`, namespace: name } });
    cluster.delete(namespaceKind, undefined, name);
    const left = new Set<number>();
    while (cluster.get(namespaceKind, undefined, name) !== undefined) {
      left.add(cluster.count(configMapKind, name));
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    return left.size;
  };

  // Each turn saw another number of objects.
  const [few, many] = [await turnsOf(1000), await turnsOf(4000)];

  expect(few).toBeGreaterThanOrEqual(10);
  expect(many).toBeGreaterThanOrEqual(3.5 * few);
  expect(many).toBeLessThanOrEqual(4.5 * few);
});

test("a namespace that is finalized and created again during its deletion keeps its new content", async () => {
  await using server = await startWithNamespace(true);
  for (let index = 0; index < 250; index++) await server.request("POST", `${path}/configmaps`, { metadata: { generateName: "c" } });
  const { cluster } = server.server;
  // Between the slices.
  server.clock.setTimer(0, () => {
    server.clock.setTimer(0, () => {
      void server.request("PUT", `${path}/finalize`, { ...cluster.get(namespaceKind, undefined, "old"), spec: {} });
      cluster.create(namespaceKind, { metadata: { name: "old" } });
    });
  });
  await server.request("DELETE", path);
  await server.clock.advance(1000);

  expect(cluster.count(configMapKind, "old")).toBeGreaterThan(50);
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
