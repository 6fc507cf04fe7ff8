import { expect, test } from "vitest";
import { boundPod, patches, podPath, podsPath, startTestServer } from "../test-support/test-server.ts";

const leasesPath = "/apis/coordination.k8s.io/v1/namespaces/default/leases";

test("an update with an old resourceVersion is refused with 409", async () => {
  await using server = await startTestServer();
  const { body: pod } = await server.request("POST", podsPath, boundPod("a"));
  await server.request("PATCH", podPath("a"), { metadata: { labels: { x: "1" } } }, patches.merge);

  const { status, body } = await server.request("PUT", podPath("a"), pod);

  expect(status).toBe(409);
  expect(body).toMatchObject({
    reason: "Conflict",
    message:
      'Operation cannot be fulfilled on pods "a": the object has been modified; please apply your changes to the latest version and try again',
  });
});

test("an update without a resourceVersion overwrites, but not a Lease", async () => {
  await using server = await startTestServer();
  await server.request("POST", podsPath, boundPod("a"));
  await server.request("POST", leasesPath, { metadata: { name: "l" }, spec: { holderIdentity: "x" } });

  const pod = await server.request("PUT", podPath("a"), {
    metadata: { name: "a", labels: { x: "1" } },
    spec: (await server.request("GET", podPath("a"))).body.spec,
  });
  const lease = await server.request("PUT", `${leasesPath}/l`, { metadata: { name: "l" }, spec: { holderIdentity: "y" } });

  expect(pod).toMatchObject({ status: 200, body: { metadata: { labels: { x: "1" } } } });
  expect(lease).toMatchObject({
    status: 422,
    body: {
      message: 'leases.coordination.k8s.io "l" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
    },
  });
});

test("PUT of a Lease that is gone creates it whatever its resourceVersion, but not with its old UID", async () => {
  await using server = await startTestServer();
  const lease = (metadata: object): object => ({ metadata: { name: "l", ...metadata }, spec: { holderIdentity: "y" } });

  const refused = await server.request("PUT", `${leasesPath}/l`, lease({ uid: "u", resourceVersion: "5" }));
  const created = await server.request("PUT", `${leasesPath}/l`, lease({ resourceVersion: "5" }));

  expect([refused.status, refused.body.reason]).toEqual([409, "Conflict"]);
  expect(refused.body.message).toContain("UID in precondition: u, UID in object meta: ");
  expect(created.status).toBe(201);
});

test("PUT creates a Lease that is not there, but not a pod", async () => {
  await using server = await startTestServer();

  const lease = await server.request("PUT", `${leasesPath}/l`, { metadata: { name: "l" }, spec: { holderIdentity: "y" } });
  const pod = await server.request("PUT", podPath("a"), boundPod("a"));

  expect(lease.status).toBe(201);
  expect(pod).toMatchObject({ status: 404, body: { message: 'pods "a" not found' } });
});

test("PUT with another UID is refused with 409, a patch with another UID with 422", async () => {
  await using server = await startTestServer();
  const { body: pod } = await server.request("POST", podsPath, boundPod("a"));

  const put = await server.request("PUT", podPath("a"), boundPod("a", {}, { uid: "other" }));
  const patch = await server.request(
    "PATCH",
    `${podPath("a")}/status`,
    { metadata: { uid: "other" }, status: { phase: "Running" } },
    patches.strategic,
  );

  expect(put.status).toBe(409);
  expect(put.body.message).toContain(`Precondition failed: UID in precondition: other, UID in object meta: ${pod.metadata.uid}`);
  expect(patch).toMatchObject({
    status: 422,
    body: { message: expect.stringContaining('metadata.uid: Invalid value: "other": field is immutable') },
  });
});

test("an update that changes nothing keeps the resourceVersion and causes no event", async () => {
  await using server = await startTestServer();
  const { body: pod } = await server.request("POST", podsPath, boundPod("a", {}, { labels: { x: "1" } }));
  const watch = await server.watch(`${podsPath}?watch=1&resourceVersion=${pod.metadata.resourceVersion}`);

  const { body } = await server.request("PATCH", podPath("a"), { metadata: { labels: { x: "1" } } }, patches.merge);
  await server.request("PATCH", podPath("a"), { metadata: { labels: { x: "2" } } }, patches.merge);

  expect(body.metadata.resourceVersion).toBe(pod.metadata.resourceVersion);
  expect((await watch.next())?.object.metadata.labels).toEqual({ x: "2" });
});

test("an update of the object keeps the status, and an update of the status keeps the object", async () => {
  await using server = await startTestServer();
  await server.request("POST", podsPath, boundPod("a"));

  const viaObject = await server.request(
    "PATCH",
    podPath("a"),
    { status: { phase: "Running" }, metadata: { labels: { x: "1" } } },
    patches.merge,
  );
  const viaStatus = await server.request(
    "PATCH",
    `${podPath("a")}/status`,
    { status: { phase: "Running" }, spec: { nodeName: "n2" } },
    patches.merge,
  );

  expect(viaObject.body).toMatchObject({ metadata: { labels: { x: "1" } }, status: { phase: "Pending" } });
  expect(viaStatus.body).toMatchObject({ status: { phase: "Running" }, spec: { nodeName: "n1" } });
});

test("labels, annotations and finalizers can be written through pods/status, owners cannot", async () => {
  await using server = await startTestServer();
  await server.request("POST", podsPath, boundPod("a"));
  const owner = { apiVersion: "v1", kind: "Pod", name: "x", uid: "u" };

  const { body } = await server.request(
    "PATCH",
    `${podPath("a")}/status`,
    { metadata: { labels: { l: "1" }, annotations: { a: "1" }, finalizers: ["x/y"], ownerReferences: [owner] } },
    patches.merge,
  );

  expect(body.metadata).toMatchObject({ labels: { l: "1" }, annotations: { a: "1" }, finalizers: ["x/y"] });
  expect(body.metadata).not.toHaveProperty("ownerReferences");
});

test("the generation counts changes of the spec, not of status or metadata", async () => {
  await using server = await startTestServer();
  await server.request("POST", podsPath, boundPod("a"));

  await server.request("PATCH", podPath("a"), { metadata: { labels: { x: "1" } } }, patches.merge);
  await server.request("PATCH", `${podPath("a")}/status`, { status: { phase: "Running" } }, patches.merge);
  const before = await server.request("GET", podPath("a"));
  const after = await server.request(
    "PATCH",
    podPath("a"),
    { spec: { containers: [{ name: "c", image: "busybox:2" }] } },
    patches.strategic,
  );

  expect(before.body.metadata.generation).toBe(1);
  expect(after.body.metadata.generation).toBe(2);
});

test("an update can neither cancel a deletion nor add finalizers to an object that is being deleted", async () => {
  await using server = await startTestServer();
  await server.request("POST", podsPath, boundPod("a"));
  const { body: deleting } = await server.request("DELETE", podPath("a"));

  const revived = await server.request(
    "PATCH",
    podPath("a"),
    { metadata: { deletionTimestamp: null, deletionGracePeriodSeconds: null } },
    patches.merge,
  );
  const held = await server.request("PATCH", podPath("a"), { metadata: { finalizers: ["x/y"] } }, patches.merge);

  expect(revived.body.metadata).toMatchObject({ deletionTimestamp: deleting.metadata.deletionTimestamp, deletionGracePeriodSeconds: 30 });
  expect(held).toMatchObject({
    status: 422,
    body: {
      message: expect.stringContaining(
        'no new finalizers can be added if the object is being deleted, found new finalizers []string{"x/y"}',
      ),
    },
  });
});

test("a patch that names another object is refused with 400", async () => {
  await using server = await startTestServer();
  await server.request("POST", podsPath, boundPod("a"));

  const { status, body } = await server.request("PATCH", podPath("a"), { metadata: { name: "b" } }, patches.merge);

  expect(status).toBe(400);
  expect(body.message).toBe("the name of the object (b) does not match the name on the URL (a)");
});

test("a PUT without a name is refused with 400", async () => {
  await using server = await startTestServer();
  await server.request("POST", podsPath, boundPod("a"));

  expect(await server.request("PUT", podPath("a"), { metadata: {} })).toMatchObject({
    status: 400,
    body: { message: "the name of the object (a based on URL) was undeterminable: name must be provided" },
  });
});

test("a patch that makes another kind of an object is refused with 422", async () => {
  await using server = await startTestServer();
  await server.request("POST", podsPath, boundPod("a"));
  const { status, body } = await server.request("PATCH", podPath("a"), { kind: "Secret" }, patches.merge);

  expect(status).toBe(422);
  expect(body.message).toMatch(/: converting \(v1\.Secret\) to \(core\.Pod\): unknown conversion$/);
});

test("micro-times must have six fractional digits", async () => {
  await using server = await startTestServer();
  const lease = (renewTime: string): object => ({ metadata: { name: "l" }, spec: { renewTime } });

  const refused = await server.request("POST", leasesPath, lease("2026-01-01T00:00:00.123Z"));
  const accepted = await server.request("POST", leasesPath, lease("2026-01-01T00:00:00.123456Z"));

  expect(refused.status).toBe(400);
  expect(accepted).toMatchObject({ status: 201, body: { spec: { renewTime: "2026-01-01T00:00:00.123456Z" } } });
});

test("a dry run of an update responds as usual and stores nothing", async () => {
  await using server = await startTestServer();
  await server.request("POST", podsPath, boundPod("a"));

  const { body } = await server.request("PATCH", `${podPath("a")}?dryRun=All`, { metadata: { labels: { x: "1" } } }, patches.merge);

  expect(body.metadata.labels).toEqual({ x: "1" });
  expect((await server.request("GET", podPath("a"))).body.metadata).not.toHaveProperty("labels");
});
