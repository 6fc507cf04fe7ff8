import { expect } from "vitest";
import type { Answer } from "./support/api.ts";
import { configMapNamed, podNamed } from "./support/objects.ts";
import { test } from "./support/parity-test.ts";

const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

test("GET returns the object as it was created", async ({ api, core }) => {
  const created = await api.create(`${core}/configmaps`, configMapNamed("settings", { a: "1" }));
  const answer = await api.get(`${core}/configmaps/settings`);

  expect(answer.status).toBe(200);
  expect(answer.body).toEqual(created);
});

test("a missing object is 404 NotFound, with its name and resource", async ({ api, core, apps }) => {
  expect(await api.get(`${core}/pods/none`)).toMatchInlineSnapshot(
    `404 Failure {details: {kind: "pods", name: "none"}, message: 'pods "none" not found', reason: "NotFound"}`,
  );
  expect(await api.get(`${apps}/deployments/none`)).toMatchInlineSnapshot(
    `404 Failure {details: {group: "apps", kind: "deployments", name: "none"}, message: 'deployments.apps "none" not found', reason: "NotFound"}`,
  );
  expect(await api.get("/api/v1/nodes/none")).toMatchInlineSnapshot(
    `404 Failure {details: {kind: "nodes", name: "none"}, message: 'nodes "none" not found', reason: "NotFound"}`,
  );
  expect(await api.get("/api/v1/namespaces/none")).toMatchInlineSnapshot(
    `404 Failure {details: {kind: "namespaces", name: "none"}, message: 'namespaces "none" not found', reason: "NotFound"}`,
  );
  expect(await api.get("/apis/coordination.k8s.io/v1/namespaces/default/leases/none")).toMatchInlineSnapshot(`
    404 Failure {
      details: {group: "coordination.k8s.io", kind: "leases", name: "none"},
      message: 'leases.coordination.k8s.io "none" not found',
      reason: "NotFound",
    }
  `);
});

test("writes and deletions of missing objects are 404", async ({ api, core }) => {
  expect(await api.put(`${core}/configmaps/none`, configMapNamed("none"))).toMatchInlineSnapshot(
    `404 Failure {details: {kind: "configmaps", name: "none"}, message: 'configmaps "none" not found', reason: "NotFound"}`,
  );
  expect(await api.patch("merge", `${core}/configmaps/none`, { data: {} })).toMatchInlineSnapshot(
    `404 Failure {details: {kind: "configmaps", name: "none"}, message: 'configmaps "none" not found', reason: "NotFound"}`,
  );
  expect(await api.patch("merge", `${core}/pods/none/status`, { status: {} })).toMatchInlineSnapshot(
    `404 Failure {details: {kind: "pods", name: "none"}, message: 'pods "none" not found', reason: "NotFound"}`,
  );
  expect(await api.delete(`${core}/configmaps/none`)).toMatchInlineSnapshot(
    `404 Failure {details: {kind: "configmaps", name: "none"}, message: 'configmaps "none" not found', reason: "NotFound"}`,
  );
  expect(await api.put(`${core}/pods/none/status`, podNamed("none"))).toMatchInlineSnapshot(
    `404 Failure {details: {kind: "pods", name: "none"}, message: 'pods "none" not found', reason: "NotFound"}`,
  );
});

test("in a missing namespace objects are 404 and lists are empty", async ({ api }) => {
  expect(await api.get("/api/v1/namespaces/nowhere/configmaps/settings")).toMatchInlineSnapshot(
    `404 Failure {details: {kind: "configmaps", name: "settings"}, message: 'configmaps "settings" not found', reason: "NotFound"}`,
  );
  expect(await api.get("/api/v1/namespaces/nowhere/configmaps")).toMatchInlineSnapshot(
    `200 {apiVersion: "v1", items: [], kind: "ConfigMapList", metadata: {resourceVersion: VERSION}}`,
  );
});

test("an unknown resource or subresource is 404 with its own message", async ({ api, core, apps }) => {
  expect(await api.get(`${core}/wishes`)).toMatchInlineSnapshot(
    `404 Failure {details: {}, message: "the server could not find the requested resource", reason: "NotFound"}`,
  );
  expect(await api.get(`${core}/wishes/one`)).toMatchInlineSnapshot(
    `404 Failure {details: {}, message: "the server could not find the requested resource", reason: "NotFound"}`,
  );
  expect(await api.get(`${apps}/wishes`)).toMatchInlineSnapshot(
    `404 Failure {details: {}, message: "the server could not find the requested resource", reason: "NotFound"}`,
  );
  expect(await api.get(`${core}/configmaps/a/status`)).toMatchInlineSnapshot(
    `404 Failure {details: {}, message: "the server could not find the requested resource", reason: "NotFound"}`,
  );
  expect(await api.get(`${core}/pods/a/scale`)).toMatchInlineSnapshot(
    `404 Failure {details: {}, message: "the server could not find the requested resource", reason: "NotFound"}`,
  );
  expect(await api.post(`${core}/wishes`, {})).toMatchInlineSnapshot(
    `404 Failure {details: {}, message: "the server could not find the requested resource", reason: "NotFound"}`,
  );
  expect(await api.get(`${core}/pods/a/status/b`)).toMatchInlineSnapshot(
    `404 Failure {details: {}, message: "the server could not find the requested resource", reason: "NotFound"}`,
  );
});

test("an unknown group, version or path is a plain 404", async ({ api }) => {
  expect(await api.get("/apis/nothing.example.com/v1/wishes")).toMatchInlineSnapshot(`404 "404 page not found\\nDIFFERENCE"`);
  expect(await api.get("/apis/apps/v7/deployments")).toMatchInlineSnapshot(
    `404 Failure {details: {}, message: "the server could not find the requested resource", reason: "NotFound"}`,
  );
  expect(await api.get("/api/v7/pods")).toMatchInlineSnapshot(
    `404 Failure {details: {}, message: "the server could not find the requested resource", reason: "NotFound"}`,
  );
  expect(await api.get("/apis/apps/v7")).toMatchInlineSnapshot(
    `404 Failure {details: {}, message: "the server could not find the requested resource", reason: "NotFound"}`,
  );
  expect(await api.get("/nowhere")).toMatchInlineSnapshot(`404 "404 page not found\\nDIFFERENCE"`);
});

test("paths of a custom resource's group that name nothing, and versions that are not served", async ({ api, namespace }) => {
  const group = `/apis/${namespace}.example.com`;
  const schema = { openAPIV3Schema: { type: "object" } };
  await api.create(crds, {
    metadata: { name: `things.${namespace}.example.com` },
    spec: {
      group: `${namespace}.example.com`,
      scope: "Namespaced",
      names: { plural: "things", kind: "Thing" },
      versions: [
        { name: "v1", served: true, storage: true, schema, subresources: { status: {} } },
        { name: "v2", served: false, storage: false, schema },
      ],
    },
  });
  const path = `${group}/v1/namespaces/${namespace}/things`;
  await expect.poll(async () => (await api.get(path)).status).toBe(200);
  const [apiVersion, kind] = [`${namespace}.example.com/v1`, "Thing"];
  const object = { apiVersion, kind, metadata: { name: "a" } };
  await api.create(path, object);
  const namespaced = (version: string, rest: string): string => `${group}/${version}/namespaces/${namespace}/${rest}`;
  const paths = [
    ...["v2", "v3"].flatMap((version) => [
      `${group}/${version}`,
      `${group}/${version}/things`,
      `${group}/${version}/things/a`,
      ...["things", "things/a", "things/a/status", "things/a/scale", "others"].map((rest) => namespaced(version, rest)),
      `${group}/${version}/watch/things`,
    ]),
    `${group}/v1/others`,
    `${group}/v1/things/a`,
    `${group}/v1/things/a/b/c/d`,
    `${group}/v1/namespaces`,
    `${group}/v1/namespaces/${namespace}`,
    `${group}/v1/watch/things`,
    ...["others", "others/a", "things/a/scale", "things/a/other"].map((rest) => namespaced("v1", rest)),
  ];
  const seen: Record<string, unknown> = {};
  const note = (name: string, { status, headers, body }: Answer): void => {
    const shown = status < 300 ? "taken" : typeof body === "string" ? body : body.message;
    seen[name.replaceAll(namespace, "NS")] = [status, headers["content-type"], shown];
  };
  for (const one of paths) note(`GET ${one}`, await api.get(`${one}?timeoutSeconds=1`));
  for (const version of ["v1", "v2", "v3"]) {
    const body = { ...object, apiVersion: apiVersion.replace("v1", version), metadata: { name: "b" } };
    note(`POST ${version}`, await api.post(`${namespaced(version, "things")}?dryRun=All`, body));
    note(`PUT ${version}`, await api.put(`${namespaced(version, "things/a")}?dryRun=All`, { ...body, metadata: { name: "a" } }));
    note(`PATCH ${version}`, await api.patch("merge", `${namespaced(version, "things/a")}?dryRun=All`, {}));
    note(`DELETE ${version}`, await api.delete(`${namespaced(version, "things/a")}?dryRun=All`));
    note(`DELETE ${version}, all`, await api.delete(`${namespaced(version, "things")}?dryRun=All`));
  }
  await api.delete(`${crds}/things.${namespace}.example.com`);
  expect(seen).toMatchSnapshot();
});

test("an unsupported verb is 405", async ({ api, core }) => {
  expect(await api.put(`${core}/configmaps`, configMapNamed("a"))).toMatchInlineSnapshot(
    `405 Failure {details: {}, message: "the server does not allow this method on the requested resource", reason: "MethodNotAllowed"}`,
  );
  expect(await api.post(`${core}/configmaps/a`, configMapNamed("a"))).toMatchInlineSnapshot(
    `405 Failure {details: {}, message: "the server does not allow this method on the requested resource", reason: "MethodNotAllowed"}`,
  );
  expect(await api.patch("merge", `${core}/configmaps`, {})).toMatchInlineSnapshot(
    `405 Failure {details: {}, message: "the server does not allow this method on the requested resource", reason: "MethodNotAllowed"}`,
  );
  expect(await api.delete("/api/v1/configmaps")).toMatchInlineSnapshot(
    `405 Failure {details: {}, message: "the server does not allow this method on the requested resource", reason: "MethodNotAllowed"}`,
  );
  expect(await api.delete(`${core}/pods/a/status`)).toMatchInlineSnapshot(
    `405 Failure {details: {}, message: "the server does not allow this method on the requested resource", reason: "MethodNotAllowed"}`,
  );
  expect(await api.get(`${core}/pods/a/binding`)).toMatchInlineSnapshot(
    `405 Failure {details: {}, message: "the server does not allow this method on the requested resource", reason: "MethodNotAllowed"}`,
  );
  expect(await api.request("PROPFIND", `${core}/configmaps`)).toMatchInlineSnapshot(
    `405 Failure {details: {}, message: "the server does not allow this method on the requested resource", reason: "MethodNotAllowed"}`,
  );
  expect(await api.request("OPTIONS", `${core}/configmaps`)).toMatchInlineSnapshot(
    `405 Failure {details: {}, message: "the server does not allow this method on the requested resource", reason: "MethodNotAllowed"}`,
  );
});

test("HEAD of an object is not supported", async ({ api, core }) => {
  await api.create(`${core}/configmaps`, configMapNamed("settings"));

  expect((await api.request("HEAD", `${core}/configmaps/settings`)).status).toBe(405);
});

test("a GET with a resourceVersion returns an object that is at least as new", async ({ api, core }) => {
  const { metadata } = await api.create(`${core}/configmaps`, configMapNamed("settings"));

  expect((await api.get(`${core}/configmaps/settings?resourceVersion=${metadata.resourceVersion}`)).status).toBe(200);
  expect((await api.get(`${core}/configmaps/settings?resourceVersion=0`)).status).toBe(200);
  expect(await api.get(`${core}/configmaps/settings?resourceVersion=later`)).toMatchInlineSnapshot(
    `500 Failure {message: 'resourceVersion: Invalid value: "later": strconv.ParseUint: parsing "later": invalid syntax'}`,
  );
});

test("a GET with a future resourceVersion fails with 504 after a while", async ({ api, core }) => {
  await api.create(`${core}/configmaps`, configMapNamed("settings"));
  const answer = await api.get(`${core}/configmaps/settings?resourceVersion=999999999`);

  expect(answer).toMatchInlineSnapshot(`
    504 Failure {
      details: {causes: [{message: "Too large resource version", reason: "ResourceVersionTooLarge"}], retryAfterSeconds: 1},
      message: "Timeout: Too large resource version: VERSION, current: VERSION",
      reason: "Timeout",
    }
  `);
  expect(answer.headers["retry-after"]).toBe("1");
});

test("an object can be read as metadata only", async ({ api, core }) => {
  await api.create(`${core}/configmaps`, configMapNamed("settings", { a: "1" }, { labels: { a: "b" } }));
  const as = (kind: string): Record<string, string> => ({ accept: `application/json;as=${kind};g=meta.k8s.io;v=v1` });

  const answer = await api.get(`${core}/configmaps/settings`, as("PartialObjectMetadata"));
  expect(answer).toMatchInlineSnapshot(`
    200 {
      apiVersion: "meta.k8s.io/v1",
      kind: "PartialObjectMetadata",
      metadata: {
        creationTimestamp: "TIME",
        labels: {a: "b"},
        name: "settings",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
    }
  `);
  expect(answer.headers["content-type"]).toBe("application/json");
  expect(await api.get(`${core}/configmaps?labelSelector=a`, as("PartialObjectMetadataList"))).toMatchInlineSnapshot(`
    200 {
      apiVersion: "meta.k8s.io/v1",
      items: [
        {
          apiVersion: "meta.k8s.io/v1",
          kind: "PartialObjectMetadata",
          metadata: {
            creationTimestamp: "TIME",
            labels: {a: "b"},
            name: "settings",
            namespace: "NAMESPACE",
            resourceVersion: VERSION,
            uid: "UID",
          },
        },
      ],
      kind: "PartialObjectMetadataList",
      metadata: {resourceVersion: VERSION},
    }
  `);
});

test("an unknown response format is 406", async ({ api, core }) => {
  const answer = await api.get(`${core}/configmaps`, { accept: "text/html" });

  expect(answer.status).toBe(406);
  expect(answer.body).toMatchObject({ reason: "NotAcceptable", code: 406 });
  expect((await api.get(`${core}/configmaps`, { accept: "text/html, */*;q=0.1" })).status).toBe(200);
  expect((await api.get(`${core}/configmaps`, { accept: "application/json;as=Novel;g=meta.k8s.io;v=v1,application/json" })).status).toBe(
    200,
  );
});

test("without credentials or with an invalid token every request is 401", async ({ api, core }) => {
  using anonymous = api.anonymous();

  expect(await anonymous.get(`${core}/pods`, { authorization: "Bearer nonsense" })).toMatchInlineSnapshot(
    `401 Failure {message: "Unauthorized", reason: "Unauthorized"}`,
  );
});

test("the server's version and health can be read without credentials", async ({ api }) => {
  using anonymous = api.anonymous();

  expect((await anonymous.get("/version")).body).toMatchObject({ major: "1", minor: "36", gitVersion: expect.stringMatching(/^v1\.36\./) });
  for (const path of ["/healthz", "/livez", "/readyz"]) expect(await anonymous.get(path)).toMatchInlineSnapshot(`200 "ok"`);
});
