import { expect } from "vitest";
import type { Api } from "./support/api.ts";
import { test } from "./support/parity-test.ts";

/** A Deployment that no controller acts on. */
async function createDeployment(api: Api, apps: string): Promise<{ readonly metadata: { readonly resourceVersion: string } }> {
  return await api.create(`${apps}/deployments`, {
    metadata: { name: "web" },
    spec: {
      replicas: 0,
      paused: true,
      selector: { matchLabels: { a: "b" }, matchExpressions: [{ key: "c", operator: "Exists" }] },
      template: { metadata: { labels: { a: "b", c: "d" } }, spec: { containers: [{ name: "a", image: "a" }] } },
    },
  });
}

const scale = (replicas: number, metadata: object = {}): object => ({
  apiVersion: "autoscaling/v1",
  kind: "Scale",
  metadata: { name: "web", ...metadata },
  spec: { replicas },
});

test("GET of the scale shows replicas and selector", async ({ api, apps }) => {
  await createDeployment(api, apps);

  expect(await api.get(`${apps}/deployments/web/scale`)).toMatchInlineSnapshot(`
    200 {
      apiVersion: "autoscaling/v1",
      kind: "Scale",
      metadata: {
        creationTimestamp: "TIME",
        name: "web",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
      spec: {},
      status: {replicas: 0, selector: "a=b,c"},
    }
  `);
});

test("a scale without replicas is 0", async ({ api, apps }) => {
  await createDeployment(api, apps);
  await api.put(`${apps}/deployments/web/scale`, { apiVersion: "autoscaling/v1", kind: "Scale", metadata: { name: "web" } });

  expect((await api.get(`${apps}/deployments/web`)).body.spec.replicas).toBe(0);
});

test("PUT and PATCH of the scale set the replicas and count the generation", async ({ api, apps }) => {
  await createDeployment(api, apps);
  const generation = async (): Promise<number> => (await api.get(`${apps}/deployments/web`)).body.metadata.generation;
  const before = await generation();

  expect((await api.put(`${apps}/deployments/web/scale`, scale(2))).body.spec).toEqual({ replicas: 2 });
  expect(await generation()).toBe(before + 1);
  expect((await api.patch("merge", `${apps}/deployments/web/scale`, { spec: { replicas: 1 } })).body.spec).toEqual({ replicas: 1 });
  expect(
    (await api.patch("json", `${apps}/deployments/web/scale`, [{ op: "replace", path: "/spec/replicas", value: 3 }])).body.spec,
  ).toEqual({ replicas: 3 });
  expect((await api.patch("strategic", `${apps}/deployments/web/scale`, { spec: { replicas: 0 } })).status).toBe(200);
  expect((await api.get(`${apps}/deployments/web`)).body.spec.replicas).toBe(0);
});

test("a ReplicaSet is scaled the same way", async ({ api, apps }) => {
  await api.create(`${apps}/replicasets`, {
    metadata: { name: "web" },
    spec: {
      replicas: 0,
      selector: { matchLabels: { a: "b" } },
      template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "a", image: "a" }] } },
    },
  });

  expect((await api.put(`${apps}/replicasets/web/scale`, { ...scale(0), metadata: { name: "web" } })).status).toBe(200);
  expect(await api.get(`${apps}/replicasets/web/scale`)).toMatchInlineSnapshot(`
    200 {
      apiVersion: "autoscaling/v1",
      kind: "Scale",
      metadata: {
        creationTimestamp: "TIME",
        name: "web",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
      spec: {},
      status: {replicas: 0, selector: "a=b"},
    }
  `);
});

test("an invalid scale is refused", async ({ api, apps }) => {
  await createDeployment(api, apps);

  expect(await api.put(`${apps}/deployments/web/scale`, scale(-1))).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [{field: "spec.replicas", message: "Invalid value: -1: must be greater than or equal to 0", reason: "FieldValueInvalid"}],
        group: "autoscaling",
        kind: "Scale",
        name: "web",
      },
      message: 'Scale.autoscaling "web" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0',
      reason: "Invalid",
    }
  `);
  expect(await api.put(`${apps}/deployments/web/scale`, { apiVersion: "v1", kind: "Pod", metadata: { name: "web" } }))
    .toMatchInlineSnapshot(`
    400 Failure {
      message: 'Pod in version "v1" cannot be handled as a Scale: converting (v1.Pod) to (autoscaling.Scale): unknown conversion',
      reason: "BadRequest",
    }
  `);
  expect(await api.put(`${apps}/deployments/web/scale`, scale(1, { name: "other" }))).toMatchInlineSnapshot(
    `400 Failure {message: "the name of the object (other) does not match the name on the URL (web)", reason: "BadRequest"}`,
  );
  expect(await api.get(`${apps}/deployments/none/scale`)).toMatchInlineSnapshot(
    `404 Failure {details: {group: "apps", kind: "deployments", name: "none"}, message: 'deployments.apps "none" not found', reason: "NotFound"}`,
  );
  expect(await api.put(`${apps}/deployments/none/scale`, scale(1, { name: "none" }))).toMatchInlineSnapshot(
    `404 Failure {details: {group: "apps", kind: "deployments", name: "none"}, message: 'deployments.apps "none" not found', reason: "NotFound"}`,
  );
});

test("a scale with an old resourceVersion is refused with 409", async ({ api, apps }) => {
  const { metadata } = await createDeployment(api, apps);
  await api.patch("merge", `${apps}/deployments/web`, { metadata: { labels: { x: "y" } } });

  expect(await api.put(`${apps}/deployments/web/scale`, scale(0, { resourceVersion: metadata.resourceVersion }))).toMatchInlineSnapshot(`
    409 Failure {
      details: {group: "apps", kind: "deployments", name: "web"},
      message: 'Operation cannot be fulfilled on deployments.apps "web": the object has been modified; please apply your changes to the latest version and try again',
      reason: "Conflict",
    }
  `);
});
