import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import { encodeProtobuf } from "../../packages/embedded-apiserver/src/kinds/schema/protobuf-encode.ts";
import { decodeProtobuf } from "../../packages/embedded-apiserver/src/kinds/schema/protobuf.ts";
import { configMapNamed, podNamed } from "./support/objects.ts";
import { difference } from "./support/known-difference.ts";
import { perServer, test } from "./support/parity-test.ts";

const protobuf = "application/vnd.kubernetes.protobuf";
const yaml = "application/yaml";
const metadataOf = (type: string, as: string, version = "v1"): string => `${type};as=${as};g=meta.k8s.io;v=${version}`;

/** Collections by URL, `NS` for the namespace, with an object of each. */
const samples: Readonly<Record<string, object>> = {
  "/api/v1/namespaces/NS/pods": podNamed("", {
    containers: [
      {
        name: "main",
        image: "main:1",
        env: [{ name: "A", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
        resources: { limits: { cpu: "1500m", memory: "1Gi" } },
        ports: [{ containerPort: 80 }],
        readinessProbe: { httpGet: { path: "/", port: "http" } },
      },
    ],
    volumes: [
      { name: "a", configMap: { name: "b", optional: true } },
      { name: "e", emptyDir: {} },
    ],
    tolerations: [{ key: "a", operator: "Exists", effect: "NoExecute", tolerationSeconds: 0 }],
  }),
  "/api/v1/namespaces/NS/services": { spec: { ports: [{ port: 80, targetPort: "http" }], selector: { a: "b" } } },
  "/api/v1/namespaces/NS/secrets": { data: { a: "", b: "eHg=" }, immutable: false },
  "/api/v1/namespaces/NS/configmaps": { data: { z: "1", a: "é" }, binaryData: { b: "AAE=" } },
  "/apis/apps/v1/namespaces/NS/deployments": {
    spec: {
      replicas: 0,
      selector: { matchLabels: { a: "b" } },
      template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "a", image: "a" }] } },
      strategy: { rollingUpdate: { maxSurge: "25%", maxUnavailable: 0 } },
    },
  },
  "/apis/apps/v1/namespaces/NS/controllerrevisions": { revision: 1, data: { spec: { a: [1, true, null] } } },
  "/apis/coordination.k8s.io/v1/namespaces/NS/leases": {
    spec: { holderIdentity: "a", renewTime: "2024-02-29T23:59:58.012345Z", leaseTransitions: 0 },
  },
  "/apis/batch/v1/namespaces/NS/cronjobs": {
    spec: {
      schedule: "0 0 1 1 *",
      suspend: true,
      jobTemplate: { spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "a", image: "a" }] } } } },
    },
  },
  "/apis/discovery.k8s.io/v1/namespaces/NS/endpointslices": {
    addressType: "IPv4",
    endpoints: [{ addresses: ["1.2.3.4"], conditions: { ready: false } }],
    ports: [{ port: 80 }],
  },
  "/apis/networking.k8s.io/v1/namespaces/NS/networkpolicies": { spec: { podSelector: {}, egress: [{ ports: [{ port: 53 }] }] } },
  "/apis/storage.k8s.io/v1/namespaces/NS/csistoragecapacities": { storageClassName: "s", capacity: "1Gi" },
  "/apis/resource.k8s.io/v1/namespaces/NS/resourceclaims": {
    spec: {
      devices: {
        requests: [{ name: "r", exactly: { deviceClassName: "c" } }],
        config: [{ opaque: { driver: "example.com", parameters: { kind: "P", apiVersion: "example.com/v1", a: 1 } } }],
      },
    },
  },
  "/apis/storage.k8s.io/v1/csidrivers": { spec: { tokenRequests: [{ audience: "a" }] } },
  "/apis/storage.k8s.io/v1/csinodes": { spec: { drivers: [{ name: "d", nodeID: "n", allocatable: { count: 0 } }] } },
  "/apis/node.k8s.io/v1/runtimeclasses": { handler: "runc", overhead: { podFixed: { cpu: "100m" } } },
  "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations": {
    spec: { type: "Limited", limited: { nominalConcurrencyShares: 0, limitResponse: { type: "Reject" } } },
  },
};

for (const [template, sample] of Object.entries(samples)) {
  const plural = template.slice(template.lastIndexOf("/") + 1);

  test(`${plural} are written and read as protobuf, byte for byte`, async ({ api, namespace }) => {
    const collection = template.replace("NS", namespace);
    const { apiVersion, kind } = await api
      .post(collection, { ...sample, metadata: { name: namespace, labels: { b: "c", a: "" } } })
      .then(({ status, body }) => (expect({ status, body }).toMatchObject({ status: 201 }), body));
    const path = `${collection}/${namespace}`;
    // The object's controller may write it between the three requests.
    const { json, bytes, put } = await eventually(async () => {
      const read = await api.get(path);
      const inProtobuf = await api.bytes("GET", path, { headers: { accept: protobuf } });
      const written = await api.request("PUT", path, { body: inProtobuf.body, headers: { "content-type": protobuf } });
      expect([written.status, written.body.metadata.resourceVersion]).toEqual([200, read.body.metadata.resourceVersion]);
      return { json: read, bytes: inProtobuf, put: written };
    });
    const version = json.body.metadata.resourceVersion;
    const query = `?fieldSelector=metadata.name=${namespace}&resourceVersion=${version}&resourceVersionMatch=Exact`;
    const list = await api.get(collection + query);
    const listBytes = await api.bytes("GET", collection + query, { headers: { accept: protobuf } });
    await api.delete(path);

    expect([bytes.status, bytes.contentType]).toEqual([200, protobuf]);
    expect(bytes.body.equals(encodeProtobuf(json.body))).toBe(true);
    expect(listBytes.body.equals(encodeProtobuf(list.body))).toBe(true);
    expect([apiVersion, kind, put.status, put.body.metadata.resourceVersion]).toEqual([json.body.apiVersion, json.body.kind, 200, version]);
  });
}

test("custom resource definitions can be created in protobuf", async ({ api, namespace }) => {
  const definition = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `as.${namespace}.example.com` },
    spec: {
      group: `${namespace}.example.com`,
      scope: "Cluster",
      names: { plural: "as", kind: "A" },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: "object",
              properties: {
                a: { type: "object", additionalProperties: { type: "string" }, default: { b: "<c>", a: "" } },
                b: { type: "array", items: { type: "number", maximum: 1.5, enum: [1, 1.5] } },
              },
            },
          },
        },
      ],
    },
  };
  const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const created = await api.request("POST", path, { body: encodeProtobuf(definition), headers: { "content-type": protobuf } });
  const bytes = await api.bytes("GET", `${path}/${definition.metadata.name}`, { headers: { accept: protobuf } });
  await api.delete(`${path}/${definition.metadata.name}`);

  expect(created.status).toBe(201);
  expect(created.body.spec.versions[0].schema).toEqual(definition.spec.versions[0]?.schema);
  expect(decodeProtobuf(bytes.body)).toMatchObject({ kind: "CustomResourceDefinition", spec: { versions: definition.spec.versions } });
});

test("errors, deletions and watches are written as protobuf", async ({ api, core }) => {
  const accept = { headers: { accept: protobuf } };
  const missing = await api.bytes("GET", `${core}/configmaps/none`, accept);
  await api.create(`${core}/configmaps`, configMapNamed("a"));
  const watched = await api.bytes("GET", `${core}/configmaps?watch=true&timeoutSeconds=1&fieldSelector=metadata.name=a`, accept);
  const deleted = await api.bytes("DELETE", `${core}/configmaps/a`, accept);

  expect([missing.status, missing.contentType]).toEqual([404, protobuf]);
  expect(decodeProtobuf(missing.body)).toMatchObject({ kind: "Status", reason: "NotFound", details: { name: "none" }, code: 404 });
  expect(decodeProtobuf(deleted.body)).toMatchObject({ kind: "Status", status: "Success", details: { name: "a" } });
  expect([watched.status, watched.contentType]).toEqual([200, `${protobuf};stream=watch`]);
  const length = watched.body.readUInt32BE();
  expect(watched.body.length).toBe(length + 4);
  const object = watched.body.subarray(watched.body.indexOf("k8s\0"));
  expect(watched.body.subarray(4, 11).toString("latin1")).toBe("\n\x05ADDED");
  expect(decodeProtobuf(object)).toMatchObject({ kind: "ConfigMap", metadata: { name: "a" } });
});

test("metadata is written as protobuf, of custom resources too", async ({ api, core }) => {
  await api.create(`${core}/configmaps`, configMapNamed("a", { secret: "x" }));
  const one = await api.bytes("GET", `${core}/configmaps/a`, { headers: { accept: metadataOf(protobuf, "PartialObjectMetadata") } });
  const many = await api.bytes("GET", `${core}/configmaps?fieldSelector=metadata.name=a`, {
    headers: { accept: metadataOf(protobuf, "PartialObjectMetadataList") },
  });
  const older = await api.bytes("GET", `${core}/configmaps?fieldSelector=metadata.name=a`, {
    headers: { accept: metadataOf(protobuf, "PartialObjectMetadataList", "v1beta1") },
  });

  const metadata = { name: "a", namespace: core.slice(core.lastIndexOf("/") + 1) };
  expect(decodeProtobuf(one.body)).toMatchObject({ kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata });
  expect(decodeProtobuf(one.body)).not.toHaveProperty("data");
  expect([many.status, many.body.includes("PartialObjectMetadataList")]).toEqual([200, true]);
  expect(decodeProtobuf(older.body)).toMatchObject({
    kind: "PartialObjectMetadataList",
    apiVersion: "meta.k8s.io/v1beta1",
    items: [{ metadata }],
  });
});

test("forms that are not served are 406", async ({ api, core }) => {
  await api.create(`${core}/configmaps`, configMapNamed("a"));
  const ask = async (accept: string, path = "/a"): Promise<unknown> => {
    const { status, body } = await api.get(`${core}/configmaps${path}`, { accept });
    return [status, body.message ?? `${body.apiVersion} ${body.kind}`];
  };
  const types = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
  const onlyAccepted = `only the following media types are accepted: ${types}`;

  expect(await ask("text/plain")).toEqual([406, `406: Not Acceptable\n\nAvailable representations: ${types}`]);
  expect(await ask("application/*")).toEqual([406, `406: Not Acceptable\n\nAvailable representations: ${types}`]);
  expect(await ask(metadataOf(protobuf, "Table"))).toEqual([406, onlyAccepted]);
  expect(await ask(metadataOf("application/json", "Foo"))).toEqual([406, onlyAccepted]);
  expect(await ask(metadataOf("application/json", "Table", "v2"))).toEqual([406, onlyAccepted]);
  expect(await ask("application/json;stream=foo")).toEqual([406, onlyAccepted]);
  expect(await ask(metadataOf("application/json", "Table", "v1beta1"))).toEqual([200, "meta.k8s.io/v1beta1 Table"]);
  expect(await ask(metadataOf("application/json", "PartialObjectMetadata"), "")).toEqual([
    406,
    "you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)",
  ]);
  expect(await ask(metadataOf("application/json", "PartialObjectMetadataList"))).toEqual([
    406,
    "you requested PartialObjectMetadataList, but the requested object is not a list (*core.ConfigMap)",
  ]);
  expect(await ask(metadataOf("application/json", "Table"), "?includeObject=foo")).toEqual([
    400,
    `Unable to convert to Table as requested: includeObject: Invalid value: "foo": must be 'Metadata', 'Object', 'None', or empty`,
  ]);
});

test("YAML is read and written", async ({ api, core }) => {
  const body = [
    "apiVersion: v1",
    "kind: ConfigMap",
    "metadata: {name: a, annotations: {x: &x 'on'}}",
    "data:",
    '  number: "012"',
    "  time: 12:30:45",
    "  date: 2024-01-02",
    "  alias: *x",
    "  text: |",
    "    a: b",
    "    c",
    "",
  ].join("\n");
  const created = await api.request("POST", `${core}/configmaps`, { body, headers: { "content-type": yaml } });
  const read = await api.get(`${core}/configmaps/a`, { accept: yaml });
  const missing = await api.get(`${core}/configmaps/none`, { accept: yaml });
  const watched = await api.get(`${core}/configmaps?watch=true`, { accept: yaml });

  expect(created.status).toBe(201);
  expect(created.body.data).toEqual({ number: "012", time: "12:30:45", date: "2024-01-02", alias: "on", text: "a: b\nc\n" });
  expect([read.status, read.headers["content-type"]]).toEqual([200, yaml]);
  expect(read.body).toContain('apiVersion: v1\ndata:\n  alias: "on"\n  date: "2024-01-02"\n  number: "012"\n  text: |\n    a: b\n    c\n');
  expect([missing.status, missing.body]).toEqual([404, expect.stringContaining('\nmessage: configmaps "none" not found\n')]);
  expect([watched.status, watched.body]).toEqual([406, expect.stringContaining("application/json;stream=watch")]);
});

test("text in YAML has the style of the server's library", async ({ api, core }) => {
  const words = "words that are long enough for a second line ".repeat(4).trim();
  const data = {
    a1: words,
    a10: `# ${words}`,
    a2: "a \n b ",
    lines: "a\n\n b\n",
    open: "a\n\n",
    number: "012",
    time: "2024-01-02",
    key: "a: b",
    tab: "a\tb",
    emoji: "😀",
  };
  await api.create(`${core}/configmaps`, { metadata: { name: "styles" }, data });
  const { body } = await api.get(`${core}/configmaps/styles`, { accept: "application/yaml" });

  expect(body.slice(0, body.indexOf("kind: ConfigMap"))).toMatchSnapshot("data");
});

test("keys of YAML that occur twice cause a warning each, or are refused on request", async ({ api, core }) => {
  const body = "metadata:\n  name: a\n  name: b\nfoo: 1\ndata:\n  x: y\n  x: z\n";
  const post = async (query: string): Promise<unknown> => {
    const answer = await api.request("POST", `${core}/configmaps${query}`, { body, headers: { "content-type": yaml } });
    return [answer.status, answer.body.message ?? answer.body.data, answer.headers["warning"]];
  };

  expect(await post("?fieldValidation=Strict")).toEqual([
    400,
    'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: yaml: unmarshal errors:\n  line 3: key "name" already set in map\n  line 7: key "x" already set in map, unknown field "foo"',
    undefined,
  ]);
  expect(await post("")).toEqual([
    201,
    { x: "z" },
    String.raw`299 - "line 3: key \"name\" already set in map", 299 - "line 7: key \"x\" already set in map", 299 - "unknown field \"foo\""`,
  ]);
});

test("problems of YAML are told in the order in which Go's library finds them", async ({ api, core }) => {
  const warningsOf = async (body: string): Promise<unknown> => {
    const text = `metadata: {name: a}\n${body}`;
    const answer = await api.request("POST", `${core}/configmaps?dryRun=All`, { body: text, headers: { "content-type": yaml } });
    return String(answer.headers["warning"]).split(/, (?=299 - )/);
  };

  expect(await warningsOf("z: 1\nx:\n- a: 1\n  a:\n    b: c\n    b: d\n")).toMatchInlineSnapshot(`
    [
      "299 - \\"line 7: key \\\\\\"b\\\\\\" already set in map\\"",
      "299 - \\"line 6: key \\\\\\"a\\\\\\" already set in map\\"",
      "299 - \\"unknown field \\\\\\"x\\\\\\"\\"",
      "299 - \\"unknown field \\\\\\"z\\\\\\"\\"",
    ]
  `);
  expect(await warningsOf("x: &m\n  a: b\n  a: c\nz:\n  <<: *m\n  b: c\n  a: d\n")).toMatchInlineSnapshot(`
    [
      "299 - \\"line 4: key \\\\\\"a\\\\\\" already set in map\\"",
      "299 - \\"line 8: key \\\\\\"a\\\\\\" already set in map\\"",
      "299 - \\"unknown field \\\\\\"x\\\\\\"\\"",
      "299 - \\"unknown field \\\\\\"z\\\\\\"\\"",
    ]
  `);
  expect(await warningsOf("x:\n  1: a\n  '1': a\n  1: b\n  true: c\n  yes: d\n  k: &a\n    b\n  k: !!str\n    z\n  k:\n    w\n"))
    .toMatchInlineSnapshot(`
    [
      '299 - "line 5: key 1 already set in map"',
      '299 - "line 7: key true already set in map"',
      "299 - \\"line 10: key \\\\\\"k\\\\\\" already set in map\\"",
      "299 - \\"line 13: key \\\\\\"k\\\\\\" already set in map\\"",
      "299 - \\"unknown field \\\\\\"x\\\\\\"\\"",
    ]
  `);
});

test("bodies that are no object are 400", async ({ api, core }) => {
  const post = async (type: string, body: string): Promise<unknown> => {
    const answer = await api.request("POST", `${core}/configmaps`, { body, headers: { "content-type": type } });
    return [answer.status, answer.body.message];
  };

  expect(await post(yaml, "- a\n")).toEqual([
    400,
    expect.stringContaining("couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct"),
  ]);
  expect(await post(protobuf, "{}")).toEqual([
    400,
    expect.stringContaining("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"),
  ]);
  expect(await post("text/plain", "{}")).toEqual([
    415,
    "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf",
  ]);
});

difference("Integers of 54 to 64 bits in fields of built-in kinds and of metadata", async ({ api, core }) => {
  const digits = "9007199254740993";
  const post = async (type: string, body: string): Promise<unknown> => {
    const answer = await api.request("POST", `${core}/pods`, { body, headers: { "content-type": type } });
    return [answer.status, answer.status === 201 ? answer.body.spec.terminationGracePeriodSeconds : answer.body.message];
  };
  const pod = podNamed("a", { terminationGracePeriodSeconds: 1 });
  const refused = perServer({
    embedded: [
      400,
      expect.stringContaining(`spec.terminationGracePeriodSeconds: the embedded API server cannot keep the integer ${digits}`),
    ],
    "kube-apiserver": [201, Number(digits)],
  });

  const text = JSON.stringify(pod).replace('"terminationGracePeriodSeconds":1', `"terminationGracePeriodSeconds":${digits}`);
  expect(await post("application/json", text)).toEqual(refused);
  expect(await post(yaml, text.replace('"name":"a"', '"name":"b"'))).toEqual(refused);
});
