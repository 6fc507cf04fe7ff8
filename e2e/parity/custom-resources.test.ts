import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import type { Answer, Api } from "./support/api.ts";
import { test } from "./support/parity-test.ts";

const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const table = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };

const text = { type: "string" };
const object = (properties: object, more: object = {}): object => ({ type: "object", properties, ...more });

const widgetSchema = object({
  spec: object(
    {
      color: { ...text, enum: ["red", "green"], default: "red" },
      size: { type: "integer", minimum: 1, maximum: 9 },
      name: { ...text, maxLength: 3, pattern: "^[a-z]*$" },
      tags: { type: "array", items: text, maxItems: 2, "x-kubernetes-list-type": "set" },
      ports: {
        type: "array",
        items: object({ port: { type: "integer" }, protocol: { ...text, default: "TCP" } }, { required: ["port"] }),
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["port"],
      },
      share: { "x-kubernetes-int-or-string": true },
      free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
      maybe: { ...text, nullable: true },
      labels: { type: "object", additionalProperties: text },
      replicas: { type: "integer", default: 1 },
    },
    { required: ["size"] },
  ),
  status: object({ replicas: { type: "integer" }, selector: text, phase: text }),
});

const version = (name: string, more: object = {}): object => ({
  name,
  served: true,
  storage: true,
  schema: { openAPIV3Schema: widgetSchema },
  subresources: {
    status: {},
    scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas", labelSelectorPath: ".status.selector" },
  },
  ...more,
});

function widgets(group: string, versions: readonly object[] = [version("v1")], more: object = {}): object {
  return {
    metadata: { name: `widgets.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural: "widgets", kind: "Widget", shortNames: ["wg"], categories: ["all"] },
      versions,
      ...more,
    },
  };
}

/** In the real server, a new kind becomes visible in several places one after the other. */
const patience = { timeoutMs: 60_000 };

/** Defines widgets and waits until they are served. @returns URL of the version's widgets in the namespace */
async function define(api: Api, namespace: string, definition: object, served = "v1"): Promise<string> {
  const group = `${namespace}.example.com`;
  await api.create(crds, definition);
  const path = `/apis/${group}/${served}/namespaces/${namespace}/widgets`;
  await eventually(async () => {
    const { body } = await api.get(`${crds}/widgets.${group}`);
    expect(body.status.conditions.find(({ type }: { type: string }) => type === "Established")?.status).toBe("True");
    expect((await api.get(path)).status).toBe(200);
    expect((await api.get(`/apis/${group}`)).status).toBe(200);
    expect((await api.get("/openapi/v3")).body.paths[`apis/${group}/${served}`]).toBeDefined();
  }, patience);
  return path;
}

const widget = (name: string, spec: object = {}, metadata: object = {}): { metadata: { name: string } } & Record<string, unknown> => ({
  metadata: { name, ...metadata },
  spec: { size: 3, ...spec },
});

/** A widget with `kind` and `apiVersion`, which the real server requires. */
const typed = (namespace: string, body: object, apiVersion = "v1"): object => ({
  apiVersion: `${namespace}.example.com/${apiVersion}`,
  kind: "Widget",
  ...body,
});

test("a definition is stored with its defaults, accepted and established", async ({ api, namespace }) => {
  const group = `${namespace}.example.com`;
  const created = await api.post(crds, widgets(group, [version("v1", { schema: { openAPIV3Schema: object({}) } })]));
  expect(created).toMatchInlineSnapshot(`
    201 {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: {
        creationTimestamp: "TIME",
        generation: 1,
        name: "widgets.NAMESPACE.example.com",
        resourceVersion: VERSION,
        uid: "UID",
      },
      spec: {
        conversion: {strategy: "None"},
        group: "NAMESPACE.example.com",
        names: {categories: ["all"], kind: "Widget", listKind: "WidgetList", plural: "widgets", shortNames: ["wg"], singular: "widget"},
        scope: "Namespaced",
        versions: [
          {
            name: "v1",
            schema: {openAPIV3Schema: {type: "object"}},
            served: true,
            storage: true,
            subresources: {
              scale: {labelSelectorPath: ".status.selector", specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas"},
              status: {},
            },
          },
        ],
      },
      status: {acceptedNames: {kind: "", plural: ""}, conditions: null, storedVersions: ["v1"]},
    }
  `);
  await eventually(async () => {
    const { body } = await api.get(`${crds}/widgets.${group}`);
    expect(body.status.conditions).toHaveLength(2);
    expect(body.status.conditions[1].status).toBe("True");
  });
  const { body } = await api.get(`${crds}/widgets.${group}`);
  expect([body.metadata.generation, body.metadata.finalizers, body.status]).toMatchInlineSnapshot(`
    [
      1,
      undefined,
      {
        acceptedNames: {categories: ["all"], kind: "Widget", listKind: "WidgetList", plural: "widgets", shortNames: ["wg"], singular: "widget"},
        conditions: [
          {
            lastTransitionTime: "TIME",
            message: "no conflicts found",
            reason: "NoConflicts",
            status: "True",
            type: "NamesAccepted",
          },
          {
            lastTransitionTime: "TIME",
            message: "the initial names have been accepted",
            reason: "InitialNamesAccepted",
            status: "True",
            type: "Established",
          },
        ],
        storedVersions: ["v1"],
      },
    ]
  `);
  await api.delete(`${crds}/widgets.${group}`);
});

test("invalid definitions are refused", async ({ api, namespace }) => {
  const group = `${namespace}.example.com`;
  const post = async (definition: object): Promise<Answer> => await api.post(crds, definition);
  const schema = (openAPIV3Schema: object): object => widgets(group, [version("v1", { schema: { openAPIV3Schema } })]);

  expect(await post({ ...widgets(group), metadata: { name: "wrong" } })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "metadata.name",
            message: 'Invalid value: "wrong": must be spec.names.plural+"."+spec.group',
            reason: "FieldValueInvalid",
          },
        ],
        group: "apiextensions.k8s.io",
        kind: "CustomResourceDefinition",
        name: "wrong",
      },
      message: 'CustomResourceDefinition.apiextensions.k8s.io "wrong" is invalid: metadata.name: Invalid value: "wrong": must be spec.names.plural+"."+spec.group',
      reason: "Invalid",
    }
  `);
  expect((await post(widgets("nodots"))).status).toBe(422);
  expect(await post(widgets(group, [version("v1", { schema: undefined })]))).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [{field: "spec.versions[0].schema.openAPIV3Schema", message: "Required value", reason: "FieldValueRequired"}],
        group: "apiextensions.k8s.io",
        kind: "CustomResourceDefinition",
        name: "widgets.NAMESPACE.example.com",
      },
      message: 'CustomResourceDefinition.apiextensions.k8s.io "widgets.NAMESPACE.example.com" is invalid: spec.versions[0].schema.openAPIV3Schema: Required value',
      reason: "Invalid",
    }
  `);
  expect(await post(widgets(group, undefined, { scope: "Everywhere" }))).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "spec.scope",
            message: 'Unsupported value: "Everywhere": supported values: "Cluster", "Namespaced"',
            reason: "FieldValueNotSupported",
          },
        ],
        group: "apiextensions.k8s.io",
        kind: "CustomResourceDefinition",
        name: "widgets.NAMESPACE.example.com",
      },
      message: 'CustomResourceDefinition.apiextensions.k8s.io "widgets.NAMESPACE.example.com" is invalid: spec.scope: Unsupported value: "Everywhere": supported values: "Cluster", "Namespaced"',
      reason: "Invalid",
    }
  `);
  expect(await post(schema({ type: "object", properties: { spec: {} } }))).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "spec.validation.openAPIV3Schema.properties[spec].type",
            message: "Required value: must not be empty for specified object fields",
            reason: "FieldValueRequired",
          },
        ],
        group: "apiextensions.k8s.io",
        kind: "CustomResourceDefinition",
        name: "widgets.NAMESPACE.example.com",
      },
      message: 'CustomResourceDefinition.apiextensions.k8s.io "widgets.NAMESPACE.example.com" is invalid: spec.validation.openAPIV3Schema.properties[spec].type: Required value: must not be empty for specified object fields',
      reason: "Invalid",
    }
  `);
  expect(await post(schema({ type: "object", properties: { spec: { type: "array" } } }))).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "spec.validation.openAPIV3Schema.properties[spec].items",
            message: "Required value: must be specified",
            reason: "FieldValueRequired",
          },
        ],
        group: "apiextensions.k8s.io",
        kind: "CustomResourceDefinition",
        name: "widgets.NAMESPACE.example.com",
      },
      message: 'CustomResourceDefinition.apiextensions.k8s.io "widgets.NAMESPACE.example.com" is invalid: spec.validation.openAPIV3Schema.properties[spec].items: Required value: must be specified',
      reason: "Invalid",
    }
  `);
  const twoStored = await post(widgets(group, [version("v1"), version("v2")]));
  expect([twoStored.status, twoStored.body.message]).toEqual([
    422,
    expect.stringContaining("must have exactly one version marked as storage version"),
  ]);
});

test("discovery shows a custom resource's names, subresources and schema", async ({ api, namespace }) => {
  await define(api, namespace, widgets(`${namespace}.example.com`));
  const group = `/apis/${namespace}.example.com`;

  expect((await api.get(group)).body).toMatchInlineSnapshot(`
    {
      apiVersion: "v1",
      kind: "APIGroup",
      name: "NAMESPACE.example.com",
      preferredVersion: {groupVersion: "NAMESPACE.example.com/v1", version: "v1"},
      versions: [{groupVersion: "NAMESPACE.example.com/v1", version: "v1"}],
    }
  `);
  const { resources } = (await api.get(`${group}/v1`)).body;
  expect(
    resources
      .map((resource: object) => ({ ...resource, storageVersionHash: undefined }))
      .toSorted((a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1)),
  ).toMatchInlineSnapshot(`
    [
      {
        categories: ["all"],
        kind: "Widget",
        name: "widgets",
        namespaced: true,
        shortNames: ["wg"],
        singularName: "widget",
        storageVersionHash: undefined,
        verbs: ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"],
      },
      {
        group: "autoscaling",
        kind: "Scale",
        name: "widgets/scale",
        namespaced: true,
        singularName: "",
        storageVersionHash: undefined,
        verbs: ["get", "patch", "update"],
        version: "v1",
      },
      {
        kind: "Widget",
        name: "widgets/status",
        namespaced: true,
        singularName: "",
        storageVersionHash: undefined,
        verbs: ["get", "patch", "update"],
      },
    ]
  `);
  const document = (await api.get(`/openapi/v3${group}/v1`)).body;
  const [name, described] = Object.entries(document.components.schemas).find(([key]) => key.endsWith(".Widget")) as [
    string,
    { properties: { spec: object }; [field: string]: unknown },
  ];
  expect(name).toContain(".v1.Widget");
  expect(Object.keys(described.properties)).toEqual(expect.arrayContaining(["apiVersion", "kind", "metadata", "spec", "status"]));
  expect(described["x-kubernetes-group-version-kind"]).toMatchInlineSnapshot(
    `[{group: "NAMESPACE.example.com", kind: "Widget", version: "v1"}]`,
  );
  await api.delete(`${crds}/widgets.${namespace}.example.com`);
});

test("a custom resource is pruned, defaulted and stored", async ({ api, namespace }) => {
  const path = await define(api, namespace, widgets(`${namespace}.example.com`));
  const body = typed(namespace, {
    ...widget("a", { stray: 1, free: { any: [1] }, maybe: null, labels: { a: "b" }, ports: [{ port: 1, stray: 2 }], share: "50%" }),
    status: { phase: "never" },
    more: true,
  });

  expect(await api.post(path, body)).toMatchInlineSnapshot(`
    201 {
      apiVersion: "NAMESPACE.example.com/v1",
      kind: "Widget",
      metadata: {
        creationTimestamp: "TIME",
        generation: 1,
        name: "a",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
      spec: {
        color: "red",
        free: {any: [1]},
        labels: {a: "b"},
        maybe: null,
        ports: [{port: 1, protocol: "TCP"}],
        replicas: 1,
        share: "50%",
        size: 3,
      },
    }
  `);
  expect(await api.request("POST", `${path}?fieldValidation=Strict`, { body: typed(namespace, widget("b", { stray: 1 })) }))
    .toMatchInlineSnapshot(`
    400 Failure {
      message: 'Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "spec.stray"',
      reason: "BadRequest",
    }
  `);
  const warned = await api.post(path, typed(namespace, widget("c", { stray: 1 })));
  expect([warned.status, warned.headers["warning"]]).toMatchInlineSnapshot(`[201, "299 - \\"unknown field \\\\\\"spec.stray\\\\\\"\\""]`);
  expect(await api.get(`${path}/none`)).toMatchInlineSnapshot(`
    404 Failure {
      details: {group: "NAMESPACE.example.com", kind: "widgets", name: "none"},
      message: 'widgets.NAMESPACE.example.com "none" not found',
      reason: "NotFound",
    }
  `);
  expect(await api.post(path, typed(namespace, widget("a")))).toMatchInlineSnapshot(`
    409 Failure {
      details: {group: "NAMESPACE.example.com", kind: "widgets", name: "a"},
      message: 'widgets.NAMESPACE.example.com "a" already exists',
      reason: "AlreadyExists",
    }
  `);
  await api.delete(`${crds}/widgets.${namespace}.example.com`);
});

test("a custom resource that violates its schema is refused", async ({ api, namespace }) => {
  const path = await define(api, namespace, widgets(`${namespace}.example.com`));
  const post = async (spec: object): Promise<Answer> => await api.post(path, typed(namespace, widget("a", spec)));

  expect(await api.post(path, typed(namespace, { metadata: { name: "a" }, spec: {} }))).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [{field: "spec.size", message: "Required value", reason: "FieldValueRequired"}],
        group: "NAMESPACE.example.com",
        kind: "Widget",
        name: "a",
      },
      message: 'Widget.NAMESPACE.example.com "a" is invalid: spec.size: Required value',
      reason: "Invalid",
    }
  `);
  expect(await post({ size: "big" })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "spec.size",
            message: 'Invalid value: "string": spec.size in body must be of type integer: "string"',
            reason: "FieldValueTypeInvalid",
          },
        ],
        group: "NAMESPACE.example.com",
        kind: "Widget",
        name: "a",
      },
      message: 'Widget.NAMESPACE.example.com "a" is invalid: spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"',
      reason: "Invalid",
    }
  `);
  expect(await post({ size: 0 })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "spec.size",
            message: "Invalid value: 0: spec.size in body should be greater than or equal to 1",
            reason: "FieldValueInvalid",
          },
        ],
        group: "NAMESPACE.example.com",
        kind: "Widget",
        name: "a",
      },
      message: 'Widget.NAMESPACE.example.com "a" is invalid: spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1',
      reason: "Invalid",
    }
  `);
  expect(await post({ color: "blue" })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "spec.color",
            message: 'Unsupported value: "blue": supported values: "red", "green"',
            reason: "FieldValueNotSupported",
          },
        ],
        group: "NAMESPACE.example.com",
        kind: "Widget",
        name: "a",
      },
      message: 'Widget.NAMESPACE.example.com "a" is invalid: spec.color: Unsupported value: "blue": supported values: "red", "green"',
      reason: "Invalid",
    }
  `);
  expect(await post({ name: "ABCD" })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [{field: "spec.name", message: "Too long: may not be more than 3 bytes", reason: "FieldValueTooLong"}],
        group: "NAMESPACE.example.com",
        kind: "Widget",
        name: "a",
      },
      message: 'Widget.NAMESPACE.example.com "a" is invalid: spec.name: Too long: may not be more than 3 bytes',
      reason: "Invalid",
    }
  `);
  expect(await post({ tags: ["a", "b", "c"] })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [{field: "spec.tags", message: "Too many: 3: must have at most 2 items", reason: "FieldValueTooMany"}],
        group: "NAMESPACE.example.com",
        kind: "Widget",
        name: "a",
      },
      message: 'Widget.NAMESPACE.example.com "a" is invalid: spec.tags: Too many: 3: must have at most 2 items',
      reason: "Invalid",
    }
  `);
  expect(await post({ tags: ["a", "a"] })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [{field: "spec.tags[1]", message: 'Duplicate value: "a"', reason: "FieldValueDuplicate"}],
        group: "NAMESPACE.example.com",
        kind: "Widget",
        name: "a",
      },
      message: 'Widget.NAMESPACE.example.com "a" is invalid: spec.tags[1]: Duplicate value: "a"',
      reason: "Invalid",
    }
  `);
  expect(await post({ ports: [{ port: 1 }, { port: 1 }] })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [{field: "spec.ports[1]", message: 'Duplicate value: {"port":1}', reason: "FieldValueDuplicate"}],
        group: "NAMESPACE.example.com",
        kind: "Widget",
        name: "a",
      },
      message: 'Widget.NAMESPACE.example.com "a" is invalid: spec.ports[1]: Duplicate value: {"port":1}',
      reason: "Invalid",
    }
  `);
  expect(await post({ ports: [{}] })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [{field: "spec.ports[0].port", message: "Required value", reason: "FieldValueRequired"}],
        group: "NAMESPACE.example.com",
        kind: "Widget",
        name: "a",
      },
      message: 'Widget.NAMESPACE.example.com "a" is invalid: spec.ports[0].port: Required value',
      reason: "Invalid",
    }
  `);
  expect(await post({ share: true })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "spec.share",
            message: 'Invalid value: "boolean": spec.share in body must be of type integer,string: "boolean"',
            reason: "FieldValueTypeInvalid",
          },
        ],
        group: "NAMESPACE.example.com",
        kind: "Widget",
        name: "a",
      },
      message: 'Widget.NAMESPACE.example.com "a" is invalid: spec.share: Invalid value: "boolean": spec.share in body must be of type integer,string: "boolean"',
      reason: "Invalid",
    }
  `);
  expect(await post({ labels: { a: 1 } })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "spec.labels.a",
            message: 'Invalid value: "integer": spec.labels.a in body must be of type string: "integer"',
            reason: "FieldValueTypeInvalid",
          },
        ],
        group: "NAMESPACE.example.com",
        kind: "Widget",
        name: "a",
      },
      message: 'Widget.NAMESPACE.example.com "a" is invalid: spec.labels.a: Invalid value: "integer": spec.labels.a in body must be of type string: "integer"',
      reason: "Invalid",
    }
  `);
  expect(await post({ replicas: null, size: null })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [{field: "spec.size", message: "Required value", reason: "FieldValueRequired"}],
        group: "NAMESPACE.example.com",
        kind: "Widget",
        name: "a",
      },
      message: 'Widget.NAMESPACE.example.com "a" is invalid: spec.size: Required value',
      reason: "Invalid",
    }
  `);
  await api.delete(`${crds}/widgets.${namespace}.example.com`);
});

test("updates of a custom resource follow the rules of its definition", async ({ api, namespace }) => {
  const path = await define(api, namespace, widgets(`${namespace}.example.com`));
  const created = await api.create(path, typed(namespace, widget("a")));
  const generation = ({ body }: Answer): unknown => body.metadata.generation;

  expect(await api.put(`${path}/a`, typed(namespace, widget("a")))).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "metadata.resourceVersion",
            message: "Invalid value: 0: must be specified for an update",
            reason: "FieldValueInvalid",
          },
        ],
        group: "NAMESPACE.example.com",
        kind: "widgets",
        name: "a",
      },
      message: 'widgets.NAMESPACE.example.com "a" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
      reason: "Invalid",
    }
  `);
  expect((await api.patch("strategic", `${path}/a`, {})).status).toBe(415);
  const merged = await api.patch("merge", `${path}/a`, { spec: { size: 4, stray: 1 }, status: { phase: "no" } });
  expect([merged.status, generation(merged), merged.body.spec, merged.body.status]).toMatchInlineSnapshot(
    `[200, 2, {color: "red", replicas: 1, size: 4}, undefined]`,
  );
  const labelled = await api.patch("json", `${path}/a`, [{ op: "add", path: "/metadata/labels", value: { a: "b" } }]);
  expect(generation(labelled)).toBe(2);
  const status = await api.patch("merge", `${path}/a/status`, {
    spec: { size: 9 },
    status: { phase: "Ready", replicas: 2, selector: "a=b" },
  });
  expect([generation(status), status.body.spec.size, status.body.status]).toMatchInlineSnapshot(
    `[2, 4, {phase: "Ready", replicas: 2, selector: "a=b"}]`,
  );
  expect(await api.patch("merge", `${path}/a`, { spec: { size: 99 } })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "spec.size",
            message: "Invalid value: 99: spec.size in body should be less than or equal to 9",
            reason: "FieldValueInvalid",
          },
        ],
        group: "NAMESPACE.example.com",
        kind: "Widget",
        name: "a",
      },
      message: 'Widget.NAMESPACE.example.com "a" is invalid: spec.size: Invalid value: 99: spec.size in body should be less than or equal to 9',
      reason: "Invalid",
    }
  `);
  const stale = await api.put(`${path}/a`, { ...created, spec: { size: 5 } });
  expect(stale).toMatchInlineSnapshot(`
    409 Failure {
      details: {group: "NAMESPACE.example.com", kind: "widgets", name: "a"},
      message: 'Operation cannot be fulfilled on widgets.NAMESPACE.example.com "a": the object has been modified; please apply your changes to the latest version and try again',
      reason: "Conflict",
    }
  `);
  await api.delete(`${crds}/widgets.${namespace}.example.com`);
});

test("a custom resource is scaled through the paths in its definition", async ({ api, namespace }) => {
  const path = await define(api, namespace, widgets(`${namespace}.example.com`));
  await api.create(path, typed(namespace, widget("a")));
  await api.patch("merge", `${path}/a/status`, { status: { replicas: 2, selector: "a=b" } });

  expect((await api.get(`${path}/a/scale`)).body).toMatchInlineSnapshot(`
    {
      apiVersion: "autoscaling/v1",
      kind: "Scale",
      metadata: {
        creationTimestamp: "TIME",
        name: "a",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
      spec: {replicas: 1},
      status: {replicas: 2, selector: "a=b"},
    }
  `);
  const scaled = await api.patch("merge", `${path}/a/scale`, { spec: { replicas: 5 } });
  expect([scaled.status, scaled.body.spec]).toMatchInlineSnapshot(`[200, {replicas: 5}]`);
  expect((await api.get(`${path}/a`)).body.spec.replicas).toBe(5);
  await api.delete(`${crds}/widgets.${namespace}.example.com`);
});

test("columns come from the definition; by default they are name and age", async ({ api, namespace }) => {
  const additionalPrinterColumns = [
    { name: "Size", type: "integer", jsonPath: ".spec.size", description: "How large" },
    { name: "Color", type: "string", jsonPath: ".spec.color", priority: 1 },
    { name: "Port", type: "integer", jsonPath: ".spec.ports[0].port" },
    { name: "Udp", type: "string", jsonPath: '.spec.ports[?(@.protocol=="UDP")].port' },
    { name: "Nothing", type: "string", jsonPath: ".spec.nothing" },
    { name: "Tags", type: "string", jsonPath: ".spec.tags" },
  ];
  const path = await define(api, namespace, widgets(`${namespace}.example.com`, [version("v1", { additionalPrinterColumns })]));
  await api.create(path, typed(namespace, widget("a", { tags: ["x"], ports: [{ port: 1 }, { port: 2, protocol: "UDP" }] })));
  const shown = await api.get(path, table);

  expect(shown.body.columnDefinitions.map(({ name, type, format, priority }: Record<string, unknown>) => [name, type, format, priority]))
    .toMatchInlineSnapshot(`
    [
      ["Name", "string", "name", 0],
      ["Size", "integer", "", 0],
      ["Color", "string", "", 1],
      ["Port", "integer", "", 0],
      ["Udp", "string", "", 0],
      ["Nothing", "string", "", 0],
      ["Tags", "string", "", 0],
    ]
  `);
  expect(shown.body.columnDefinitions.slice(1, 3).map(({ description }: { description: string }) => description)).toMatchInlineSnapshot(
    `["How large", "Custom resource definition column (in JSONPath format): .spec.color"]`,
  );
  expect(shown.body.rows[0].cells).toMatchInlineSnapshot(`["a", 3, "red", 1, "2", null, '["x"]']`);
  await api.delete(`${crds}/widgets.${namespace}.example.com`);
});

test("versions of an object differ only in their apiVersion", async ({ api, namespace }) => {
  const definition = widgets(`${namespace}.example.com`, [version("v1beta1", { storage: false }), version("v1")]);
  const path = await define(api, namespace, definition);
  const beta = path.replace("/v1/", "/v1beta1/");
  await api.create(path, typed(namespace, widget("a")));

  expect((await api.get(`/apis/${namespace}.example.com`)).body.preferredVersion.version).toBe("v1");
  await eventually(async () => expect((await api.get(`${beta}/a`)).status).toBe(200));
  const { body } = await api.get(`${beta}/a`);
  expect([body.apiVersion, body.kind]).toEqual([`${namespace}.example.com/v1beta1`, "Widget"]);
  const list = await api.get(beta);
  expect([list.body.kind, list.body.apiVersion, list.body.items[0].apiVersion]).toMatchInlineSnapshot(
    `["WidgetList", "NAMESPACE.example.com/v1beta1", "NAMESPACE.example.com/v1beta1"]`,
  );
  await api.create(beta, typed(namespace, widget("b"), "v1beta1"));
  expect((await api.get(`${path}/b`)).body.apiVersion).toBe(`${namespace}.example.com/v1`);
  using watch = await api.watch(`${beta}?resourceVersion=0`);
  const events = await watch.take(2);
  expect(events.map(({ object: { apiVersion } }) => apiVersion)).toEqual(
    Array.from({ length: 2 }, () => `${namespace}.example.com/v1beta1`),
  );
  await api.delete(`${crds}/widgets.${namespace}.example.com`);
});

test("a changed definition applies to existing resources", async ({ api, namespace }) => {
  const path = await define(api, namespace, widgets(`${namespace}.example.com`));
  await api.create(path, typed(namespace, widget("a")));
  const url = `${crds}/widgets.${namespace}.example.com`;
  const changed = await api.patch("json", url, [
    {
      op: "add",
      path: "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/extra",
      value: { type: "string", default: "x" },
    },
  ]);
  expect([changed.status, changed.body.metadata.generation]).toEqual([200, 2]);
  await eventually(async () => {
    const { body } = await api.patch("merge", `${path}/a`, { spec: { extra: "y" } });
    expect(body.spec.extra).toBe("y");
  });
  expect(await api.patch("merge", url, { spec: { scope: "Cluster", names: { kind: "Gadget" } } })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {field: "spec.scope", message: 'Invalid value: "Cluster": field is immutable', reason: "FieldValueInvalid"},
          {field: "spec.names.kind", message: 'Invalid value: "Gadget": field is immutable', reason: "FieldValueInvalid"},
        ],
        group: "apiextensions.k8s.io",
        kind: "CustomResourceDefinition",
        name: "widgets.NAMESPACE.example.com",
      },
      message: 'CustomResourceDefinition.apiextensions.k8s.io "widgets.NAMESPACE.example.com" is invalid: [spec.scope: Invalid value: "Cluster": field is immutable, spec.names.kind: Invalid value: "Gadget": field is immutable]',
      reason: "Invalid",
    }
  `);
  await api.delete(url);
});

test("a stored object is read with the defaults of its stored version's schema of today", async ({ api, namespace }) => {
  const spec = (properties: object): object => ({ schema: { openAPIV3Schema: object({ spec: object(properties) }) }, subresources: {} });
  const definition = widgets(`${namespace}.example.com`, [
    version("v1beta1", { storage: false, ...spec({ size: { type: "integer" }, shade: text, beta: text }) }),
    version("v1", spec({ size: { type: "integer" }, shade: text, wasNull: { ...text, nullable: true } })),
  ]);
  const path = await define(api, namespace, definition);
  const beta = path.replace("/v1/", "/v1beta1/");
  await api.create(path, typed(namespace, { metadata: { name: "a" }, spec: { size: 1, wasNull: null } }));
  await api.create(path, typed(namespace, { metadata: { name: "b" }, spec: { size: 1, shade: "light" } }));
  const before = await api.get(`${path}/a`);
  expect(before.body.spec).toMatchInlineSnapshot(`{size: 1, wasNull: null}`);
  const properties = (index: number): string => `/spec/versions/${index}/schema/openAPIV3Schema/properties/spec/properties`;
  await api.patch("json", `${crds}/widgets.${namespace}.example.com`, [
    { op: "add", path: `${properties(0)}/shade/default`, value: "of beta" },
    { op: "add", path: `${properties(0)}/beta/default`, value: "of beta" },
    { op: "add", path: `${properties(1)}/shade/default`, value: "dark" },
    { op: "replace", path: `${properties(1)}/wasNull`, value: { ...text, default: "was null" } },
  ]);

  await eventually(async () => expect((await api.get(`${path}/a`)).body.spec.shade).toBe("dark"));
  const read = (await api.get(`${path}/a`)).body;
  expect([read.spec, read.metadata.resourceVersion === before.body.metadata.resourceVersion]).toMatchInlineSnapshot(
    `[{shade: "dark", size: 1, wasNull: "was null"}, true]`,
  );
  const specs = async (url: string): Promise<unknown> => (await api.get(url)).body.items.map((item: { spec: object }) => item.spec);
  expect([await specs(path), await specs(beta), (await api.get(`${beta}/a`)).body.spec]).toMatchInlineSnapshot(`
    [
      [{shade: "dark", size: 1, wasNull: "was null"}, {shade: "light", size: 1, wasNull: "was null"}],
      [{shade: "dark", size: 1}, {shade: "light", size: 1}],
      {shade: "dark", size: 1},
    ]
  `);
  using watch = await api.watch(path);
  expect((await watch.take(2)).map(({ object: { spec: watched } }) => watched)).toMatchInlineSnapshot(
    `[{shade: "dark", size: 1, wasNull: "was null"}, {shade: "light", size: 1, wasNull: "was null"}]`,
  );
  await api.patch("merge", `${path}/a`, { metadata: { labels: { changed: "yes" } } });
  await api.delete(`${path}/b`);
  const events = await watch.take(2);
  expect(events.map(({ type, object: { spec: watched } }) => [type, watched])).toMatchInlineSnapshot(
    `[["MODIFIED", {shade: "dark", size: 1, wasNull: "was null"}], ["DELETED", {shade: "light", size: 1, wasNull: "was null"}]]`,
  );
  expect(await specs(beta)).toMatchInlineSnapshot(`[{shade: "dark", size: 1}]`);
  await api.delete(`${crds}/widgets.${namespace}.example.com`);
});

test("a write without a change stores a custom resource in the form of today's definition, once", async ({ api, namespace }) => {
  const schema = { openAPIV3Schema: object({ spec: object({ size: { type: "integer" } }), status: object({ phase: text }) }) };
  const versions = [version("v1beta1", { storage: false, schema }), version("v1", { schema })];
  const subresources = { status: {} };
  const path = await define(
    api,
    namespace,
    widgets(
      `${namespace}.example.com`,
      versions.map((one) => ({ ...one, subresources })),
    ),
  );
  const url = `${crds}/widgets.${namespace}.example.com`;
  const configuration = (name: string): object => typed(namespace, { metadata: { name }, spec: { size: 1 } });
  const writes: Readonly<Record<string, (at: string, name: string) => Promise<Answer>>> = {
    put: async (at) => await api.put(at, (await api.get(at)).body),
    merge: (at) => api.patch("merge", at, {}),
    json: (at) => api.patch("json", at, []),
    apply: (at, name) => api.apply(at, "parity", configuration(name)),
    "status-put": async (at) => await api.put(`${at}/status`, (await api.get(at)).body),
    "status-merge": (at) => api.patch("merge", `${at}/status`, {}),
    "status-json": (at) => api.patch("json", `${at}/status`, []),
    "status-apply": (at, name) => api.apply(`${at}/status`, "parity", typed(namespace, { metadata: { name }, status: { phase: "a" } })),
    "dry-run": (at) => api.patch("merge", `${at}?dryRun=All`, {}),
    beta: (at) => api.patch("merge", at.replace("/v1/", "/v1beta1/"), {}),
  };
  const names = [...Object.keys(writes), "probe"];
  for (const name of names) await api.apply(`${path}/${name}`, "parity", configuration(name));
  await api.apply(
    `${path}/status-apply/status`,
    "parity",
    typed(namespace, { metadata: { name: "status-apply" }, status: { phase: "a" } }),
  );
  const versionOf = async (name: string): Promise<string> => (await api.get(`${path}/${name}`)).body.metadata.resourceVersion;
  const untilInEffect = async (): Promise<void> => {
    const before = await versionOf("probe");
    const write = async (): Promise<Answer> => await api.patch("merge", `${path}/probe`, {});
    await eventually(async () => expect((await write()).body.metadata.resourceVersion).not.toBe(before), patience);
  };
  const written = async (): Promise<unknown> => {
    const outcomes: Record<string, unknown> = {};
    for (const [name, write] of Object.entries(writes)) {
      const seen = [await versionOf(name)];
      for (let times = 0; times < 3; times++) {
        expect((await write(`${path}/${name}`, name)).status).toBe(200);
        seen.push(await versionOf(name));
      }
      const { metadata, spec } = (await api.get(`${path}/${name}`)).body;
      const managers = metadata.managedFields.map(
        ({ apiVersion, fieldsV1 }: { apiVersion: string; fieldsV1: object }) =>
          `${apiVersion.replace(/.*\//, "")} ${JSON.stringify(fieldsV1)}`,
      );
      const isChanged = seen.slice(1).map((after, index) => after !== seen[index]);
      outcomes[name] = [isChanged, metadata.generation, spec, ...managers];
    }
    return outcomes;
  };
  expect(await written()).toMatchSnapshot("before");

  const weight = { type: "integer", default: 3 };
  const change = [0, 1].map((index) => ({
    op: "add",
    path: `/spec/versions/${index}/schema/openAPIV3Schema/properties/spec/properties/weight`,
    value: weight,
  }));
  expect((await api.patch("json", url, change)).status).toBe(200);
  await untilInEffect();
  using watch = await api.watch(`${path}?resourceVersion=${await versionOf("probe")}&fieldSelector=metadata.name=merge`);
  expect(await written()).toMatchSnapshot("a new default");
  const events = await watch.take(1);
  expect(events.map(({ type, object: { spec } }) => [type, spec])).toMatchSnapshot("a new default: event");

  const swap = [0, 1].map((index) => ({ op: "replace", path: `/spec/versions/${index}/storage`, value: index === 0 }));
  expect((await api.patch("json", url, swap)).status).toBe(200);
  await untilInEffect();
  expect(await written()).toMatchSnapshot("another storage version");
  await api.delete(url);
});

test("deleting a definition deletes its resources, and waits for finalizers", async ({ api, namespace }) => {
  const path = await define(api, namespace, widgets(`${namespace}.example.com`));
  const url = `${crds}/widgets.${namespace}.example.com`;
  await api.create(path, typed(namespace, widget("a", {}, { finalizers: ["example.com/hold"] })));
  await api.create(path, typed(namespace, widget("b")));
  const deleted = await api.delete(url);
  expect([deleted.status, deleted.body.kind, deleted.body.metadata.finalizers]).toMatchInlineSnapshot(
    `[200, "CustomResourceDefinition", ["customresourcecleanup.apiextensions.k8s.io"]]`,
  );
  await eventually(async () => expect((await api.get(`${path}/b`)).status).toBe(404));
  await eventually(async () => expect((await api.post(path, typed(namespace, widget("c")))).status).toBe(403));
  const refused = await api.post(path, typed(namespace, widget("c")));
  expect(refused).toMatchInlineSnapshot(`
    403 Failure {
      details: {group: "NAMESPACE.example.com", kind: "widgets", name: "c"},
      message: 'widgets.NAMESPACE.example.com "c" is forbidden: create not allowed while custom resource definition is terminating',
      reason: "Forbidden",
    }
  `);
  await api.patch("json", `${path}/a`, [{ op: "remove", path: "/metadata/finalizers" }]);
  await eventually(async () => expect((await api.get(url)).status).toBe(404), patience);
  await eventually(async () => expect((await api.get(path)).status).toBe(404));
});

test("a watch of custom resources ends with their definition", async ({ api, namespace }) => {
  const path = await define(api, namespace, widgets(`${namespace}.example.com`));
  await api.create(path, typed(namespace, widget("a", {}, { finalizers: ["example.com/hold"] })));
  using watch = await api.watch(`${path}?resourceVersion=0`);
  await api.delete(`${crds}/widgets.${namespace}.example.com`);

  expect((await watch.take(2)).map(({ type }) => type)).toEqual(["ADDED", "MODIFIED"]);
  await api.patch("json", `${path}/a`, [{ op: "remove", path: "/metadata/finalizers" }]);
  expect((await watch.rest()).map(({ type }) => type)).toEqual(["DELETED"]);
});

// The real garbage collector discovers a new kind within half a minute.
test("custom resources are deleted with their namespace and with their owner", { timeout: 300_000 }, async ({ api, core, namespace }) => {
  const path = await define(api, namespace, widgets(`${namespace}.example.com`));
  const owner = await api.create(`${core}/configmaps`, { metadata: { name: "owner" } });
  const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: owner.metadata.uid }];
  await api.create(path, typed(namespace, widget("owned", {}, { ownerReferences })));
  const other = `${namespace}-2`;
  await api.create("/api/v1/namespaces", { metadata: { name: other } });
  const elsewhere = path.replace(`/namespaces/${namespace}/`, `/namespaces/${other}/`);
  await api.create(elsewhere, typed(namespace, widget("a")));

  await api.delete(`/api/v1/namespaces/${other}`);
  await eventually(async () => expect((await api.get(`/api/v1/namespaces/${other}`)).status).toBe(404), { timeoutMs: 120_000 });
  expect((await api.get(`${elsewhere}/a`)).status).toBe(404);
  await api.delete(`${core}/configmaps/owner`);
  await eventually(async () => expect((await api.get(`${path}/owned`)).status).toBe(404), { timeoutMs: 120_000 });
  await api.delete(`${crds}/widgets.${namespace}.example.com`);
});
