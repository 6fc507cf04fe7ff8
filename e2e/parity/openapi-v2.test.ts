import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import { test } from "./support/parity-test.ts";

const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const text = { type: "string" };

/** The document is large, and a busy server takes its time to write it. */
const patience = { timeoutMs: 60_000, intervalMs: 250 };

const schema = {
  description: "Foo CRD for Testing",
  type: "object",
  properties: {
    spec: {
      type: "object",
      required: ["bars", "age"],
      properties: {
        age: { type: "integer", nullable: true, minimum: 1 },
        bars: {
          type: "array",
          items: { type: "object", required: ["name"], properties: { name: { ...text, pattern: "^a", description: "Name of Bar" } } },
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["name"],
        },
        choice: { ...text, enum: ["a", "b"], default: "a", anyOf: [{ maxLength: 2 }, { minLength: 1 }] },
        free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        labels: { type: "object", additionalProperties: text },
        share: { "x-kubernetes-int-or-string": true },
        template: { type: "object", "x-kubernetes-embedded-resource": true, properties: { data: text } },
      },
    },
  },
};

const version = (name: string, more: object = {}): object => ({
  name,
  served: true,
  storage: name === "v1",
  // The real server treats versions with the same schema otherwise.
  schema: { openAPIV3Schema: { ...schema, description: `Foo ${name} for Testing` } },
  ...more,
});

function definition(group: string, versions: readonly object[]): object {
  return {
    metadata: { name: `foos.${group}` },
    spec: { group, scope: "Namespaced", names: { plural: "foos", singular: "foo", kind: "Foo", listKind: "FooList" }, versions },
  };
}

test("the definitions of version 2 are those of the built-in kinds", async ({ api }) => {
  // Definitions that other files create and remove on the same server change the document.
  const { status, headers, body } = await eventually(async () => {
    const answer = await api.get("/openapi/v2");
    const again = await api.get("/openapi/v2", { "if-none-match": answer.headers["etag"] ?? "" });
    expect(again.status).toBe(304);
    return answer;
  }, patience);

  expect(status).toBe(200);
  expect(headers).toMatchObject({ "content-type": "application/json", vary: "Accept-Encoding, Accept" });
  expect(body.swagger).toBe("2.0");
  expect(body.definitions["io.k8s.api.core.v1.Pod"]).toMatchSnapshot("Pod");
  expect(body.definitions["io.k8s.api.core.v1.ConfigMap"]).toMatchSnapshot("ConfigMap");
  expect(body.definitions["io.k8s.api.core.v1.EnvVarSource"]).toMatchSnapshot("EnvVarSource");
  expect(body.definitions["io.k8s.api.core.v1.Secret"]).toMatchSnapshot("Secret");
  expect(body.definitions["io.k8s.api.core.v1.PodList"].properties.items.items).toEqual({ $ref: "#/definitions/io.k8s.api.core.v1.Pod" });
  expect(body.definitions["io.k8s.apimachinery.pkg.util.intstr.IntOrString"]).toMatchSnapshot("IntOrString");
  const { get } = body.paths["/api/v1/namespaces/{namespace}/pods/{name}/exec"];
  expect([get.operationId, get["x-kubernetes-action"], get["x-kubernetes-group-version-kind"]]).toEqual([
    "connectCoreV1GetNamespacedPodExec",
    "connect",
    { group: "", kind: "PodExecOptions", version: "v1" },
  ]);
});

test("version 2 is there in JSON and protobuf only", async ({ api }) => {
  const types = ["application/json", "*/*", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"];
  const answers = await Promise.all([...types, "text/html"].map((accept) => api.request("GET", "/openapi/v2", { headers: { accept } })));

  expect(answers.map(({ status, headers }) => [status, headers["content-type"]])).toEqual([
    [200, "application/json"],
    [200, "application/json"],
    [200, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"],
    [406, undefined],
  ]);
});

test("custom resources are published with each served version, and withdrawn", async ({ api, namespace }) => {
  const group = `${namespace}.example.com`;
  const name = (kind: string): string => `com.example.${namespace}.${kind}`;
  const published = async (): Promise<Record<string, object>> => (await api.get("/openapi/v2")).body.definitions;
  const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value).replaceAll(namespace, "NAMESPACE"));
  await api.create(crds, definition(group, [version("v1", { selectableFields: [{ jsonPath: ".spec.choice" }] }), version("v2")]));
  await eventually(async () => expect(await published()).toHaveProperty([name("v2.Foo")]), patience);
  const definitions = await published();

  expect(plain(definitions[name("v1.Foo")])).toMatchSnapshot("v1.Foo");
  expect(plain(definitions[name("v1.FooList")])).toMatchSnapshot("v1.FooList");
  expect(plain(definitions[name("v2.Foo")])).toMatchSnapshot("v2.Foo");

  await api.patch("json", `${crds}/foos.${group}`, [{ op: "replace", path: "/spec/versions/1/name", value: "v3" }]);
  await eventually(async () => expect(Object.keys(await published())).toContain(name("v3.Foo")), patience);
  expect(Object.keys(await published())).not.toContain(name("v2.Foo"));

  await api.patch("json", `${crds}/foos.${group}`, [{ op: "replace", path: "/spec/versions/1/served", value: false }]);
  await eventually(async () => expect(Object.keys(await published())).not.toContain(name("v3.Foo")), patience);

  await api.delete(`${crds}/foos.${group}`);
  await eventually(async () => expect(Object.keys(await published())).not.toContain(name("v1.Foo")), patience);
});

test("a custom resource with unknown fields at its root is published without properties", async ({ api, namespace }) => {
  const group = `${namespace}.example.com`;
  const open = { schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } } };
  await api.create(crds, definition(group, [version("v1", open)]));

  await eventually(async () => {
    const { definitions } = (await api.get("/openapi/v2")).body;
    expect(definitions[`com.example.${namespace}.v1.Foo`]).toEqual({
      type: "object",
      "x-kubernetes-group-version-kind": [{ group, kind: "Foo", version: "v1" }],
    });
  }, patience);
  await api.delete(`${crds}/foos.${group}`);
});

test("fields with a few allowed values list them and say what they mean", async ({ api }) => {
  const { definitions } = (await api.get("/openapi/v2")).body;
  const schemas = (await api.get("/openapi/v3/api/v1")).body.components.schemas;

  for (const documents of [definitions, schemas]) {
    const { imagePullPolicy } = documents["io.k8s.api.core.v1.Container"].properties;
    expect(imagePullPolicy.enum).toEqual(["Always", "IfNotPresent", "Never"]);
    expect(imagePullPolicy.description).toContain(
      '\n\nPossible enum values:\n - `"Always"` means that kubelet always attempts to pull the latest image.',
    );
    const { accessModes } = documents["io.k8s.api.core.v1.PersistentVolumeClaimSpec"].properties;
    expect(accessModes.items.enum).toEqual(["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"]);
    const { allocatedResourceStatuses } = documents["io.k8s.api.core.v1.PersistentVolumeClaimStatus"].properties;
    expect(allocatedResourceStatuses.additionalProperties.enum).toContain("NodeResizeInProgress");
  }
});
