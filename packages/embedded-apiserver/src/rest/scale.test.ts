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
