import { expect, test } from "vitest";
import { patches, startTestServer, type TestServer } from "../test-support/test-server.ts";

const path = "/apis/apps/v1/namespaces/default/deployments";

async function createDeployment(server: TestServer): Promise<void> {
  await server.request("POST", path, {
    metadata: { name: "d" },
    spec: {
      replicas: 2,
      selector: { matchLabels: { a: "b" } },
      template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }] } },
    },
  });
}

test("scale reads and writes the number of replicas", async () => {
  await using server = await startTestServer();
  await createDeployment(server);

  const read = await server.request("GET", `${path}/d/scale`);
  const patched = await server.request("PATCH", `${path}/d/scale`, { spec: { replicas: 5 } }, patches.merge);
  const replaced = await server.request("PUT", `${path}/d/scale`, { metadata: { name: "d" }, spec: { replicas: 3 } });

  expect(read.body).toMatchObject({
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: { name: "d" },
    spec: { replicas: 2 },
    status: { replicas: 0, selector: "a=b" },
  });
  expect([patched.body.spec, replaced.body.spec]).toEqual([{ replicas: 5 }, { replicas: 3 }]);
  expect((await server.request("GET", `${path}/d`)).body).toMatchObject({ metadata: { generation: 3 }, spec: { replicas: 3 } });
});

test("a scale is shown as a table with the numbers of replicas, also that of a custom resource", async () => {
  await using server = await startTestServer();
  await createDeployment(server);
  const schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const scale = { specReplicasPath: ".spec.size", statusReplicasPath: ".status.size" };
  await server.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
    metadata: { name: "things.example.com" },
    spec: {
      group: "example.com",
      scope: "Cluster",
      names: { plural: "things", kind: "Thing" },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema }, subresources: { scale } }],
    },
  });
  await server.request("POST", "/apis/example.com/v1/things", {
    apiVersion: "example.com/v1",
    kind: "Thing",
    metadata: { name: "t" },
    spec: { size: 4 },
  });

  const table = "application/json;as=Table;v=v1;g=meta.k8s.io";
  const deployment = (await server.getAs(`${path}/d/scale`, table)).body;
  const thing = (await server.getAs("/apis/example.com/v1/things/t/scale", table)).body;

  for (const { columnDefinitions } of [deployment, thing])
    expect(columnDefinitions.map(({ name }: { name: string }) => name)).toEqual(["Name", "Desired", "Available", "Age"]);
  expect(deployment.rows[0].cells).toEqual(["d", 2, 0, "0s"]);
  expect(thing.rows[0].cells).toEqual(["t", 4, 0, "0s"]);
  const partial = (await server.getAs(`${path}/d/scale`, "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io")).body;
  expect(partial).toMatchObject({ kind: "PartialObjectMetadata", metadata: { name: "d" } });
});

test("a body that is not the object's Scale is refused with 400", async () => {
  await using server = await startTestServer();
  const path = "/apis/apps/v1/namespaces/default/deployments/web/scale";

  expect((await server.request("PUT", path, { apiVersion: "v1", kind: "Pod", metadata: { name: "web" } })).body.message).toBe(
    'Pod in version "v1" cannot be handled as a Scale: converting (v1.Pod) to (autoscaling.Scale): unknown conversion',
  );
  expect((await server.request("PUT", path, { metadata: { name: "other" }, spec: { replicas: 1 } })).body.message).toBe(
    "the name of the object (other) does not match the name on the URL (web)",
  );
});

test("a negative number of replicas is refused with 422", async () => {
  await using server = await startTestServer();
  await createDeployment(server);

  const { status, body } = await server.request("PATCH", `${path}/d/scale`, { spec: { replicas: -1 } }, patches.merge);

  expect(status).toBe(422);
  expect(body.message).toBe('Scale.autoscaling "d" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0');
});

test("a scale with an old resourceVersion is refused with 409", async () => {
  await using server = await startTestServer();
  await createDeployment(server);

  const { status } = await server.request("PUT", `${path}/d/scale`, {
    metadata: { name: "d", resourceVersion: "1" },
    spec: { replicas: 3 },
  });

  expect(status).toBe(409);
});
