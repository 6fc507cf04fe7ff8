import { expect, test } from "vitest";
import { boundPod, patches, podPath, podsPath, startTestServer, type TestServer } from "../test-support/test-server.ts";

async function createPod(server: TestServer, spec: object = {}, metadata: object = {}): Promise<{ uid: string; resourceVersion: string }> {
  const { body } = await server.request("POST", podsPath, boundPod("a", spec, metadata));
  return body.metadata;
}

async function metadataOf(server: TestServer): Promise<Record<string, unknown> | undefined> {
  const { status, body } = await server.request("GET", podPath("a"));
  return status === 404 ? undefined : body.metadata;
}

test("a running pod stays for its grace period with a deletionTimestamp", async () => {
  await using server = await startTestServer();
  await createPod(server, { terminationGracePeriodSeconds: 45 });

  const { status, body } = await server.request("DELETE", podPath("a"));

  expect(status).toBe(200);
  expect(body.metadata).toMatchObject({ deletionTimestamp: "2026-01-01T00:00:45Z", deletionGracePeriodSeconds: 45, generation: 2 });
  expect(await metadataOf(server)).toEqual(body.metadata);
});

test("the request's grace period takes precedence over the pod's", async () => {
  await using server = await startTestServer();
  await createPod(server);

  const { body } = await server.request("DELETE", podPath("a"), { gracePeriodSeconds: 5 });

  expect(body.metadata).toMatchObject({ deletionTimestamp: "2026-01-01T00:00:05Z", deletionGracePeriodSeconds: 5 });
});

test("a negative grace period is one second", async () => {
  await using server = await startTestServer();
  await createPod(server);

  const { body } = await server.request("DELETE", `${podPath("a")}?gracePeriodSeconds=-5`);

  expect(body.metadata.deletionGracePeriodSeconds).toBe(1);
});

test.each([
  ["no node", { nodeName: "" }, undefined],
  ["ended in failure", {}, "Failed"],
  ["ended well", {}, "Succeeded"],
])("a pod that has %s goes at once", async (_name, spec, phase) => {
  await using server = await startTestServer();
  await createPod(server, spec);
  if (phase !== undefined) await server.request("PATCH", `${podPath("a")}/status`, { status: { phase } }, patches.merge);

  const { status } = await server.request("DELETE", podPath("a"));

  expect(status).toBe(200);
  expect(await metadataOf(server)).toBeUndefined();
});

test("grace 0 removes the pod; watchers see it marked first", async () => {
  await using server = await startTestServer();
  const { resourceVersion } = await createPod(server);
  const watch = await server.watch(`${podsPath}?watch=1&resourceVersion=${resourceVersion}`);

  const { body } = await server.request("DELETE", podPath("a"), { gracePeriodSeconds: 0 });

  expect(body.metadata).toMatchObject({ deletionGracePeriodSeconds: 0 });
  expect(await watch.take(2)).toEqual(["MODIFIED a", "DELETED a"]);
  expect(await metadataOf(server)).toBeUndefined();
});

test("a second deletion can only shorten the grace period", async () => {
  await using server = await startTestServer();
  await createPod(server);
  await server.request("DELETE", podPath("a"), { gracePeriodSeconds: 30 });
  await server.clock.advance(4_000);

  const longer = await server.request("DELETE", podPath("a"), { gracePeriodSeconds: 60 });
  const same = await server.request("DELETE", podPath("a"));
  const shorter = await server.request("DELETE", podPath("a"), { gracePeriodSeconds: 10 });

  expect(longer.body.metadata).toMatchObject({ deletionTimestamp: "2026-01-01T00:00:30Z", deletionGracePeriodSeconds: 30 });
  expect(same.body.metadata).toMatchObject({ deletionTimestamp: "2026-01-01T00:00:30Z", deletionGracePeriodSeconds: 30 });
  // Counted from the first deletion.
  expect(shorter.body.metadata).toMatchObject({ deletionTimestamp: "2026-01-01T00:00:10Z", deletionGracePeriodSeconds: 10, generation: 2 });
});

test("a shortened grace period that has already passed becomes one second", async () => {
  await using server = await startTestServer();
  await createPod(server);
  await server.request("DELETE", podPath("a"), { gracePeriodSeconds: 30 });
  await server.clock.advance(20_000);

  const { body } = await server.request("DELETE", podPath("a"), { gracePeriodSeconds: 10 });

  expect(body.metadata).toMatchObject({ deletionTimestamp: "2026-01-01T00:00:20Z", deletionGracePeriodSeconds: 1 });
});

test("finalizers keep a pod that is deleted with grace 0, until the last is removed", async () => {
  await using server = await startTestServer();
  await createPod(server, {}, { finalizers: ["x/y"] });

  await server.request("DELETE", podPath("a"), { gracePeriodSeconds: 0 });
  const kept = await metadataOf(server);
  await server.request("PATCH", podPath("a"), { metadata: { finalizers: null } }, patches.merge);

  expect(kept).toMatchObject({ deletionGracePeriodSeconds: 0, finalizers: ["x/y"] });
  expect(await metadataOf(server)).toBeUndefined();
});

test("removing the last finalizer does not cut the grace period short", async () => {
  await using server = await startTestServer();
  await createPod(server, {}, { finalizers: ["x/y"] });
  await server.request("DELETE", podPath("a"));

  await server.request("PATCH", podPath("a"), { metadata: { finalizers: null } }, patches.merge);

  expect(await metadataOf(server)).toMatchObject({ deletionGracePeriodSeconds: 30 });
});

test("an object without grace period and with a finalizer is marked with grace 0", async () => {
  await using server = await startTestServer();
  await server.request("POST", "/api/v1/namespaces/default/configmaps", { metadata: { name: "c", finalizers: ["x/y"] } });

  const { body } = await server.request("DELETE", "/api/v1/namespaces/default/configmaps/c");

  expect(body).toMatchObject({ kind: "ConfigMap", metadata: { deletionTimestamp: "2026-01-01T00:00:00Z", deletionGracePeriodSeconds: 0 } });
});

test("a second deletion of an object that waits for its finalizers changes nothing", async () => {
  await using server = await startTestServer();
  const path = "/api/v1/namespaces/default/configmaps";
  await server.request("POST", path, { metadata: { name: "c", finalizers: ["x/y"] } });

  const first = await server.request("DELETE", `${path}/c`);

  expect((await server.request("DELETE", `${path}/c`)).body).toEqual(first.body);
});

test("an immediate deletion returns a Status that names the object", async () => {
  await using server = await startTestServer();
  const { body: node } = await server.request("POST", "/api/v1/nodes", { metadata: { name: "n" } });

  const { body } = await server.request("DELETE", "/api/v1/nodes/n");

  expect(body).toEqual({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: { name: "n", kind: "nodes", uid: node.metadata.uid },
  });
});

test("preconditions on UID and resourceVersion are checked", async () => {
  await using server = await startTestServer();
  const { uid, resourceVersion } = await createPod(server);

  const otherUid = await server.request("DELETE", podPath("a"), { preconditions: { uid: "other" } });
  const otherVersion = await server.request("DELETE", podPath("a"), { preconditions: { resourceVersion: "1" } });
  const right = await server.request("DELETE", podPath("a"), { gracePeriodSeconds: 0, preconditions: { uid, resourceVersion } });

  expect(otherUid).toMatchObject({
    status: 409,
    body: {
      message: `Operation cannot be fulfilled on Pod "a": the UID in the precondition (other) does not match the UID in record (${uid}). The object might have been deleted and then recreated`,
    },
  });
  expect(otherVersion.status).toBe(409);
  expect(right.status).toBe(200);
  expect(await metadataOf(server)).toBeUndefined();
});

test("deleting a missing object is a 404", async () => {
  await using server = await startTestServer();

  expect(await server.request("DELETE", podPath("a"))).toMatchObject({ status: 404, body: { message: 'pods "a" not found' } });
});

test("a dry run of a deletion deletes nothing", async () => {
  await using server = await startTestServer();
  await createPod(server);

  const { body } = await server.request("DELETE", `${podPath("a")}?dryRun=All&gracePeriodSeconds=0`);

  expect(body.metadata.deletionGracePeriodSeconds).toBe(0);
  expect(await metadataOf(server)).not.toHaveProperty("deletionTimestamp");
});

test("only the selected objects of a collection are deleted", async () => {
  await using server = await startTestServer();
  for (const [name, app] of [
    ["a", "x"],
    ["b", "y"],
  ] as const)
    await server.request("POST", podsPath, { ...boundPod(name, { nodeName: "" }), metadata: { name, labels: { app } } });

  const { status } = await server.request("DELETE", `${podsPath}?labelSelector=app%3Dx`);

  expect(status).toBe(200);
  expect((await server.request("GET", podsPath)).body.items.map((pod: { metadata: { name: string } }) => pod.metadata.name)).toEqual(["b"]);
});

test("the propagation policy becomes a finalizer for the garbage collector", async () => {
  await using server = await startTestServer();
  await server.request("POST", "/api/v1/namespaces/default/configmaps", { metadata: { name: "c" } });

  const { body } = await server.request("DELETE", "/api/v1/namespaces/default/configmaps/c", { propagationPolicy: "Foreground" });

  expect(body.metadata).toMatchObject({ finalizers: ["foregroundDeletion"], deletionGracePeriodSeconds: 0 });
});
