import { expect, test } from "vitest";
import { startTestServer, type TestServer } from "../test-support/test-server.ts";

const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const things = "/apis/example.com/v1/namespaces/default/things";

async function startWithThings(count: number, finalizers?: string[]): Promise<TestServer> {
  const server = await startTestServer();
  await server.request("POST", crds, {
    metadata: { name: "things.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { plural: "things", kind: "Thing" },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
    },
  });
  for (let index = 0; index < count; index++)
    await server.request("POST", things, {
      apiVersion: "example.com/v1",
      kind: "Thing",
      metadata: { name: `t${String(index)}`, finalizers },
    });
  return server;
}

test("the objects of a deleted definition go in slices, between which requests are served", async () => {
  await using server = await startWithThings(250);
  await server.request("DELETE", `${crds}/things.example.com`);

  const left = (await server.request("GET", things)).body.items.length;
  await server.clock.advance(0);

  expect(left).toBeGreaterThan(100);
  expect(left).toBeLessThan(250);
  expect((await server.request("GET", `${crds}/things.example.com`)).status).toBe(404);
});

test("a deleted definition waits for the finalizers of its objects, however often it changes meanwhile", async () => {
  await using server = await startWithThings(2, ["example.com/a"]);
  const patch = (path: string, metadata: object) => server.request("PATCH", path, { metadata }, "application/merge-patch+json");
  await server.request("DELETE", `${crds}/things.example.com`);
  await patch(`${crds}/things.example.com`, { labels: { a: "b" } });

  await patch(`${things}/t0`, { finalizers: null });
  const waiting = await server.request("GET", `${crds}/things.example.com`);
  await patch(`${things}/t1`, { finalizers: null });

  expect(waiting.status).toBe(200);
  expect((await server.request("GET", `${crds}/things.example.com`)).status).toBe(404);
});

test("a definition whose updates a policy refuses can be deleted, because its finalizer is dropped with a write of the status", async () => {
  await using server = await startWithThings(1);
  const admission = "/apis/admissionregistration.k8s.io/v1";
  const resources = ["customresourcedefinitions"];
  const rule = { apiGroups: ["apiextensions.k8s.io"], apiVersions: ["v1"], operations: ["UPDATE"], resources };
  await server.request("POST", `${admission}/validatingadmissionpolicies`, {
    metadata: { name: "no-updates" },
    spec: { matchConstraints: { resourceRules: [rule] }, validations: [{ expression: "false", message: "no updates" }] },
  });
  await server.request("POST", `${admission}/validatingadmissionpolicybindings`, {
    metadata: { name: "no-updates" },
    spec: { policyName: "no-updates", validationActions: ["Deny"] },
  });

  const updated = await server.request(
    "PATCH",
    `${crds}/things.example.com`,
    { metadata: { labels: { a: "b" } } },
    "application/merge-patch+json",
  );
  const deleted = await server.request("DELETE", `${crds}/things.example.com`);
  await server.clock.advance(0);

  expect([updated.status, deleted.status]).toEqual([422, 200]);
  expect((await server.request("GET", `${crds}/things.example.com`)).status).toBe(404);
});
