import { accepts, get, patch, post, put, remove, wait, type ComparedRequest, type RequestGroup } from "./request.ts";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const group = "compare.example.com";
const widgets = `/apis/${group}/v1/namespaces/{ns}/widgets`;

const schema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      required: ["size"],
      properties: {
        size: { type: "integer", minimum: 1, maximum: 10 },
        color: { type: "string", enum: ["red", "blue"], default: "red" },
        replicas: { type: "integer" },
        big: { type: "integer", format: "int64" },
        any: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        tags: { type: "array", maxItems: 2, items: { type: "string" }, "x-kubernetes-list-type": "set" },
        port: { "x-kubernetes-int-or-string": true },
      },
      "x-kubernetes-validations": [{ rule: "self.size < 9", message: "size must stay below 9" }],
    },
    status: { type: "object", properties: { replicas: { type: "integer" }, note: { type: "string" } } },
  },
};

const definition = {
  metadata: { name: `widgets.${group}` },
  spec: {
    group,
    scope: "Namespaced",
    names: { plural: "widgets", singular: "widget", kind: "Widget", shortNames: ["wd"] },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: schema },
        subresources: { status: {}, scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" } },
        additionalPrinterColumns: [{ name: "Size", type: "integer", jsonPath: ".spec.size" }],
        selectableFields: [{ jsonPath: ".spec.color" }],
      },
      // The real server refuses selectable fields if all schemas are equal.
      { name: "v2", served: true, storage: false, schema: { openAPIV3Schema: { ...schema, description: "the second" } } },
    ],
  },
};

const widget = (name: string, spec: object, more: object = {}): object => ({
  apiVersion: `${group}/v1`,
  kind: "Widget",
  metadata: { name },
  spec,
  ...more,
});

const postWidget = (...args: Parameters<typeof widget>): ComparedRequest => post(widgets, widget(...args));

const isEstablished = (body: Readonly<Record<string, unknown>>): boolean =>
  JSON.stringify(body["status"]).includes('"type":"Established"') && !JSON.stringify(body["status"]).includes('"status":"False"');

const bad = (name: string, change: object): ComparedRequest =>
  post(definitions, {
    metadata: { name: `${name}.${group}` },
    spec: { ...definition.spec, names: { plural: name, kind: name }, ...change },
  });

const badSchema = (openAPIV3Schema: object): ComparedRequest =>
  bad("bads", { versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema } }] });

/** Definitions of custom resources and their objects. */
export const customRequests: readonly RequestGroup[] = [
  {
    name: "custom resources",
    steps: [
      post(definitions, definition),
      wait(`${definitions}/widgets.${group}`, isEstablished),
      // The real server adds the paths some moments later.
      wait(`${widgets}`),
      wait(`/apis/${group}/v2/namespaces/{ns}/widgets`),
      wait(`/apis/apiregistration.k8s.io/v1/apiservices/v1.${group}`),
      wait(`/apis/apiregistration.k8s.io/v1/apiservices/v2.${group}`),
      wait(`/apis/${group}`, ({ versions }) => (versions as readonly unknown[]).length === 2),
      wait(`/apis/${group}/v1`),
      get(`${definitions}/widgets.${group}`),
      get(`/apis/${group}`),
      get(`/apis/${group}/v1`),
      postWidget("a", { size: 3 }),
      postWidget("b", { size: 0 }),
      postWidget("b", { size: 9 }),
      postWidget("b", { size: "3" }),
      postWidget("b", {}),
      postWidget("b", { size: 3, color: "green" }),
      postWidget("b", { size: 3, tags: ["x", "x"] }),
      postWidget("b", { size: 3, tags: ["x", "y", "z"] }),
      postWidget("b", { size: 3, nosuch: 1 }),
      post(`${widgets}?fieldValidation=Strict`, widget("c", { size: 3, nosuch: 1 })),
      postWidget("d", { size: 3, any: { deep: { x: 1 } }, port: "http" }, { status: { note: "dropped" } }),
      postWidget("e", { size: 3, port: true }),
      post(
        widgets,
        JSON.stringify(widget("big", { size: 3, big: 0, any: { n: 0 } }))
          .replace('"big":0', '"big":9007199254740993')
          .replace('"n":0', '"n":9007199254740993'),
      ),
      get(`${widgets}/big`),
      post(widgets, { ...widget("f", { size: 3 }), apiVersion: `${group}/v3` }),
      post(widgets, { ...widget("f", { size: 3 }), kind: "Gadget" }),
      post(widgets, { metadata: { name: "f" }, spec: { size: 3 } }),
      post(widgets, "apiVersion: compare.example.com/v1\nkind: Widget\nmetadata: {name: yaml}\nspec: {size: 3}\n", "application/yaml"),
      post(widgets, "k8s\0nonsense", "application/vnd.kubernetes.protobuf"),
      get(`${widgets}/a`),
      get(`${widgets}/a`, accepts.yaml),
      get(`${widgets}/a`, accepts.protobuf),
      get(widgets, accepts.table),
      get(`${widgets}/a`, accepts.metadata),
      get(`/apis/${group}/v2/namespaces/{ns}/widgets/a`),
      get(`${widgets}?fieldSelector=spec.color%3Dred`),
      get(`${widgets}?fieldSelector=spec.size%3D3`),
      put(`${widgets}/a`, widget("a", { size: 4 })),
      patch("merge", `${widgets}/a`, { spec: { size: 5, color: null } }),
      patch("strategic", `${widgets}/a`, { spec: { size: 5 } }),
      patch("json", `${widgets}/a`, [{ op: "replace", path: "/spec/size", value: 99 }]),
      patch("apply", `${widgets}/a?fieldManager=me`, widget("a", { size: 6 })),
      patch("apply", `${widgets}/new?fieldManager=me`, widget("new", { size: 6, tags: ["x"] })),
      patch("apply", `${widgets}/new?fieldManager=other`, widget("new", { size: 7 })),
      patch("merge", `${widgets}/a/status`, { status: { note: "x", replicas: 2 }, spec: { size: 1 } }),
      get(`${widgets}/a/status`),
      get(`${widgets}/a/scale`),
      patch("merge", `${widgets}/a/scale`, { spec: { replicas: 4 } }),
      get(`${widgets}/nosuch`),
      remove(`${widgets}/d`),
      remove(widgets),
      bad("gadgets", { names: { plural: "widgets", kind: "Widget" } }),
      bad("bads", { scope: "Sideways" }),
      bad("bads", { versions: [] }),
      bad("bads", { versions: [{ name: "v1", served: true, storage: true }] }),
      bad("bads", { versions: [{ name: "V 1", served: true, storage: false, schema: { openAPIV3Schema: { type: "object" } } }] }),
      badSchema({ type: "string" }),
      badSchema({ type: "object", properties: { spec: { properties: { x: { type: "object" } } } } }),
      badSchema({ type: "object", properties: { spec: { type: "object", "x-kubernetes-validations": [{ rule: "self.nosuch > 1" }] } } }),
      badSchema({ type: "object", properties: { spec: { type: "integer", default: "x" } } }),
      bad("bads", { conversion: { strategy: "Webhook" } }),
      post(definitions, "spec: {", "application/yaml"),
      patch("merge", `${definitions}/widgets.${group}`, { spec: { scope: "Cluster" } }),
      get(`${definitions}/widgets.${group}`, accepts.table),
      remove(`${definitions}/widgets.${group}`),
    ],
  },
];
