import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import { patch as patchOf } from "../../packages/embedded-apiserver/src/test-support/webhook-server.ts";
import type { Answer, Api } from "./support/api.ts";
import { establishDefinition } from "./support/definitions.ts";
import { difference } from "./support/known-difference.ts";
import { MutatingPolicies, policies, policySpec, type PolicyCase } from "./support/mutating-policies.ts";
import { perServer, test } from "./support/parity-test.ts";
import { refusal, refusals } from "./support/refusals.ts";
import { Webhooks } from "./support/webhooks.ts";

type Cases = Readonly<Record<string, PolicyCase | readonly string[] | string>>;

/** Answers to dry runs that create the same object for each policy: what `show` returns of the object, or the refusal. */
async function created(
  { api, namespace }: { readonly api: Api; readonly namespace: string },
  cases: Cases,
  {
    path,
    object,
    show,
  }: { readonly path: string; readonly object: { readonly metadata: object }; readonly show: (object: Answer["body"]) => unknown },
): Promise<Record<string, unknown>> {
  const all = Object.fromEntries(Object.entries(cases).map(([key, given]) => [key, policyCase(given)]));
  await using _policies = await MutatingPolicies.create(api, namespace, all);
  const answers: Record<string, unknown> = {};
  for (const key of Object.keys(all)) {
    const labels = { case: key };
    const answer = await api.post(`${path}?dryRun=All`, { ...object, metadata: { ...object.metadata, labels } });
    answers[key] = withoutNamespace(answer.status === 201 ? show(answer.body) : refusal(answer), namespace);
  }
  return answers;
}

function policyCase(given: Cases[string]): PolicyCase {
  if (typeof given === "string") return { mutations: [given] };
  return "mutations" in given ? given : { mutations: given };
}

function withoutNamespace(value: unknown, namespace: string): unknown {
  return JSON.parse(JSON.stringify(value).replaceAll(namespace, "NS")) as unknown;
}

const configMap = { metadata: { name: "c" }, data: { a: "1" } };
const dataOf = ({ data, metadata: { annotations, labels, name } }: Answer["body"]): unknown => ({ data, annotations, labels, name });

const deployment = {
  metadata: { name: "d" },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: "x" } },
    template: {
      metadata: { labels: { app: "x" } },
      spec: { nodeSelector: { a: "b" }, containers: [{ name: "main", image: "i", env: [{ name: "A", value: "1" }] }] },
    },
  },
};
const deploymentOf = ({ metadata: { annotations }, spec }: Answer["body"]): unknown => {
  const { containers } = spec.template.spec;
  return { annotations, replicas: spec.replicas, minReadySeconds: spec.minReadySeconds, containers: containers.map(containerOf) };
};
const containerOf = ({ name, image, env, resources }: Answer["body"]): unknown => ({ name, image, env, resources });

const pod = (fields: string): string =>
  `Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{${fields}}}}}`;
const container = "Object.spec.template.spec.containers";
const annotated = (fields: string): string => `Object{metadata: Object.metadata{annotations: ${fields}}}`;

test("expressions of mutations have to compile", async ({ api }) => {
  const named = (...mutations: readonly string[]): object => ({ metadata: { name: "p" }, spec: policySpec("none", mutations) });
  const { spec } = named("Object{}") as { spec: { matchConstraints: object } };
  const withSpec = (own: object): object => ({ metadata: { name: "p" }, spec: { ...spec, ...own } });
  expect(
    await refusals(api, policies, {
      "another type": named("Object.spec{}"),
      "a dynamic value": named("object"),
      "a type": named("Object"),
      "an undefined type": named("Object.spec == type(1) ? Object{} : Object{}"),
      "two types": named("true ? Object{} : Object.spec{}"),
      "an unknown type": named("Invalid{}"),
      "a path of a variable": named("object.a{}"),
      "an unknown variable": named("Object{spec: x}"),
      "optional fields": named("Object{?spec: 1}"),
      "a list of several types": named("Object{spec: Object.spec{a: [Object.spec.a{}, Object.spec.b{}]}}"),
      "a quoted field": named("Object{'a': 1}"),
      "no value": named("Object{spec: }"),
      "no list": named(" [JSONPatch{op: 'add'}][0]".trim()),
      "an empty list": named("[]"),
      "a list of texts": named("['a']"),
      "wrong fields of a patch": named("[JSONPatch{op: 1}]"),
      "unknown fields of a patch": named("[JSONPatch{op: 'add', pth: 1}]"),
      "a key that is no text": named("Object{a: jsonpatch.escapeKey(1)}"),
      "the parameters of another policy": named("Object{a: params.b}"),
      "a wrong variable": withSpec({ variables: [{ name: "a", expression: "Object{}" }] }),
      "a wrong condition": withSpec({ matchConditions: [{ name: "a", expression: " Object{} == object " }] }),
      "no expression": withSpec({ mutations: [{ patchType: "JSONPatch", jsonPatch: { expression: " " } }] }),
      "no patch": withSpec({ mutations: [{ patchType: "JSONPatch" }] }),
      "two patches": withSpec({
        mutations: [{ patchType: "JSONPatch", jsonPatch: { expression: "[JSONPatch{}]" }, applyConfiguration: { expression: "1" } }],
      }),
      "another patch": withSpec({ mutations: [{ patchType: "Merge" }] }),
      "no mutations": withSpec({ mutations: [] }),
      "no reinvocation policy": withSpec({ reinvocationPolicy: "" }),
      deletions: withSpec({
        matchConstraints: {
          resourceRules: [{ apiGroups: ["*"], apiVersions: ["*"], operations: ["DELETE"], resources: ["pods"] }],
        },
      }),
      "reserved words": named("Object{package: 1, metadata: Object.metadata{namespace: 'x', ?name: optional.of('y')}}"),
      variables: withSpec({
        paramKind: { apiVersion: "v1", kind: "ConfigMap" },
        variables: [{ name: "a", expression: "request.userInfo" }],
        mutations: [{ patchType: "ApplyConfiguration", applyConfiguration: { expression: " Object{a: variables.a.b, b: params.c} " } }],
      }),
      "parts of patches": named("(has(object.a) ? [JSONPatch{op: 'add'}] : []) + [JSONPatch{op: 'add', value: Object.a{}}]"),
    }),
  ).toMatchSnapshot();
});

test("apply configurations of mutations are merged by the schema", async ({ api, namespace, apps }) => {
  const cases: Cases = {
    replicas: "Object{spec: Object.spec{replicas: 5}}",
    annotations: annotated(`{"mutated-by": "policy"}`),
    containers: pod(
      `containers: [${container}{name: "main", env: [${container}.env{name: "B", value: "2"}]}, ${container}{name: "side", image: "x"}]`,
    ),
    "each-container": pod(
      `containers: object.spec.template.spec.containers.map(c, ${container}{name: c.name, env: [${container}.env{name: "NAME", value: c.name}]})`,
    ),
    quantities: pod(`containers: [${container}{name: "main", resources: ${container}.resources{requests: {"cpu": "1000m"}}}]`),
    "optional-fields": "Object{spec: Object.spec{?minReadySeconds: object.spec.?minReadySeconds, ?replicas: optional.of(7)}}",
    "parts-of-the-object": annotated("object.metadata.labels"),
    "facts-of-the-request": annotated(
      "{'namespace': namespaceObject.metadata.name, 'operation': request.operation, 'kind': request.kind.kind, 'absent': string(oldObject == null)}",
    ),
    authorizer:
      "Object{spec: Object.spec{replicas: authorizer.group('').resource('pods').namespace('default').check('create').allowed() ? 4 : 3}}",
    "whole-numbers": "Object{spec: Object.spec{replicas: 3.0}}",
    nothing: "Object{}",
    "kind-and-version": "Object{kind: 'Other', apiVersion: 'v9', spec: Object.spec{replicas: 2}}",
    "an-invalid-object": pod(`containers: [${container}{name: "main", imagePullPolicy: "Sometimes"}]`),
    "another-namespace": "Object{metadata: Object.metadata{namespace: 'other'}}",
  };
  expect(
    await created({ api, namespace }, cases, { path: `${apps}/deployments`, object: deployment, show: deploymentOf }),
  ).toMatchSnapshot();
});

test("apply configurations that do not fit the schema are refused", async ({ api, namespace, apps }) => {
  const cases: Cases = {
    "unknown-field": "Object{spec: Object.spec{foo: 1}}",
    "text-for-a-number": "Object{spec: Object.spec{replicas: '3'}}",
    "number-for-a-text": annotated("{'a': 1}"),
    "text-for-a-boolean": "Object{spec: Object.spec{paused: 'x'}}",
    "fraction-for-an-integer": "Object{spec: Object.spec{replicas: 3.5}}",
    "name-of-a-type": "Object{spec: Object.metadata{replicas: 1}}",
    "name-of-an-item": pod("containers: [Object.spec.template.spec.containers.item{name: 'main'}]"),
    "map-in-a-list": pod("containers: [{'name': 'main', 'image': 'y'}]"),
    "map-in-a-map": annotated("{'a': {'b': 'c'}}"),
    "list-in-a-map": annotated("{'a': ['b']}"),
    "map-for-an-object": "Object{metadata: {'annotations': {'a': 'b'}}}",
    null: "Object{spec: Object.spec{replicas: null}}",
    time: annotated("{'a': timestamp('2020-01-01T00:00:00Z')}"),
    duration: annotated("{'a': duration('90s')}"),
    bytes: annotated("{'a': b'x'}"),
    unsigned: "Object{spec: Object.spec{replicas: 3u}}",
    keys: annotated("{1: 'b'}"),
    "atomic-object": "Object{spec: Object.spec{selector: Object.spec.selector{matchLabels: {'a': 'b'}}}}",
    "atomic-map": pod("nodeSelector: {'c': 'd'}"),
    "atomic-lists": pod(`containers: [${container}{name: "main", args: ["a"]}]`),
    duplicates: pod(`containers: [${container}{name: "x", image: "x"}, ${container}{name: "x", image: "y"}]`),
  };
  expect(
    await created({ api, namespace }, cases, { path: `${apps}/deployments`, object: deployment, show: deploymentOf }),
  ).toMatchSnapshot();
});

const patch = (op: string, path: string, value?: string, from?: string): string =>
  `[JSONPatch{op: "${op}", path: "${path}"${value === undefined ? "" : `, value: ${value}`}${from === undefined ? "" : `, from: "${from}"`}}]`;

test("JSON patches of mutations", async ({ api, namespace, core }) => {
  const cases: Cases = {
    add: patch("add", "/data/b", "'2'"),
    replace: patch("replace", "/data/a", "'2'"),
    "replace-nothing": patch("replace", "/data/b", "'2'"),
    remove: patch("remove", "/data/a"),
    move: patch("move", "/data/b", undefined, "/data/a"),
    copy: patch("copy", "/data/b", undefined, "/data/a"),
    test: `[JSONPatch{op: "test", path: "/data/a", value: "1"}, JSONPatch{op: "add", path: "/data/b", value: "2"}]`,
    "failed-test": `[JSONPatch{op: "test", path: "/data/a", value: "2"}, JSONPatch{op: "add", path: "/data/b", value: "2"}]`,
    "escaped-key": `[JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("example.com/x"), value: "y"}]`,
    "map-value": patch("add", "/metadata/annotations", "{'a': 'b'}"),
    "object-value": patch("add", "/metadata/annotations", "Object.metadata.annotations{a: 'b'}"),
    "null-value": patch("add", "/data", "null"),
    "no-value": patch("add", "/data/b"),
    "time-value": patch("add", "/data/b", "timestamp('2020-01-01T00:00:00Z')"),
    "duration-value": patch("add", "/data/b", "duration('90s')"),
    "bytes-value": patch("add", "/data/b", "b'xyz'"),
    "large-number": patch("add", "/data/b", "9007199254740993"),
    "optional-value": patch("add", "/data/b", "optional.of('x')"),
    "no-operations": "[JSONPatch{}].filter(p, false)",
    "several-mutations": [patch("add", "/data/b", "'2'"), "Object{data: {'c': object.data.b}}", patch("remove", "/data/a")],
    "remove-nothing": patch("remove", "/data/x"),
    "remove-in-nothing": patch("remove", "/foo/x"),
    "replace-in-nothing": patch("replace", "/foo/x", "'1'"),
    "add-in-nothing": patch("add", "/metadata/annotations/x", "'1'"),
    "test-in-nothing": patch("test", "/x/y", "'1'"),
    "move-nothing": patch("move", "/data/b", undefined, "/data/x"),
    "copy-from-nothing": patch("copy", "/data/b", undefined, "/x/x"),
    "copy-without-from": patch("copy", "/data/b"),
    "unknown-operation": patch("merge", "/data/a", "'x'"),
    "no-operation": "[JSONPatch{path: '/data/a'}]",
    "no-path": "[JSONPatch{op: 'add', value: '1'}]",
    "number-for-a-text": patch("add", "/data/b", "1"),
    "text-for-a-map": patch("add", "/data", "'x'"),
    "unknown-field": patch("add", "/foo", "'x'"),
    "another-kind": patch("replace", "/kind", "'Foo'"),
    "another-version": patch("replace", "/apiVersion", "'apps/v1'"),
    "wrong-name": patch("add", "/metadata", "Object.metadata{annotations: Object.foo{a: 'b'}}"),
    "number-as-a-key": patch("add", "/data", "{1: 'x'}"),
    "type-as-a-value": patch("add", "/data/b", "type(1)"),
    "quantity-as-a-value": patch("add", "/data/b", "quantity('1')"),
    "time-in-an-object": patch("add", "/metadata/annotations", "Object.metadata.annotations{a: timestamp('2020-01-01T00:00:00Z')}"),
    "no-metadata": patch("remove", "/metadata"),
  };
  expect(await created({ api, namespace }, cases, { path: `${core}/configmaps`, object: configMap, show: dataOf })).toMatchSnapshot();
});

test("JSON patches of lists", async ({ api, namespace, apps }) => {
  const containers = "/spec/template/spec/containers";
  const cases: Cases = {
    append: patch("add", `${containers}/-`, `${container}{name: "b", image: "c"}`),
    "append-a-map": patch("add", `${containers}/-`, "{'name': 'b', 'image': 'c'}"),
    insert: patch("add", `${containers}/0`, "{'name': 'b', 'image': 'c'}"),
    defaults: patch("remove", "/spec/replicas"),
    "beyond-the-end": patch("remove", `${containers}/7`),
    "no-index": patch("add", `${containers}/x`, "{'name': 'b', 'image': 'c'}"),
    "replace-beyond-the-end": patch("replace", `${containers}/7`, "{'name': 'b', 'image': 'c'}"),
    "test-beyond-the-end": patch("test", `${containers}/7`, "{'name': 'b', 'image': 'c'}"),
    "text-for-a-number": patch("replace", "/spec/replicas", "'4'"),
    "fraction-for-an-integer": patch("replace", "/spec/replicas", "4.5"),
  };
  expect(
    await created({ api, namespace }, cases, { path: `${apps}/deployments`, object: deployment, show: deploymentOf }),
  ).toMatchSnapshot();
});

test("failure policies, variables and conditions of mutations", async ({ api, namespace, core }) => {
  const broken = "Object{data: {'b': object.data.none}}";
  const ignored = { failurePolicy: "Ignore" };
  const cases: Cases = {
    fails: broken,
    "fails-twice": [broken, "Object{data: {'b': object.data.other}}"],
    ignored: { mutations: [broken], spec: ignored },
    "ignored-in-part": { mutations: [broken, "Object{data: {'b': '2'}}"], spec: ignored },
    "fails-to-apply": patch("remove", "/foo/x"),
    "ignored-patch": { mutations: [patch("remove", "/foo/x")], spec: ignored },
    "unknown-field-is-not-ignored": { mutations: [patch("add", "/foo", "'x'")], spec: ignored },
    variables: {
      mutations: ["Object{data: {'b': variables.a + variables.b}}"],
      spec: {
        variables: [
          { name: "a", expression: "object.data.a" },
          { name: "b", expression: "variables.a + '0'" },
        ],
      },
    },
    "variables-of-the-changed-object": {
      mutations: ["Object{data: {'a': variables.a + 'x'}}", "Object{data: {'b': variables.a}}"],
      spec: { variables: [{ name: "a", expression: "object.data.a" }] },
    },
    "broken-variable": {
      mutations: ["Object{data: {'b': variables.a}}"],
      spec: { variables: [{ name: "a", expression: "object.data.none" }] },
    },
    "condition-is-false": { mutations: [broken], spec: { matchConditions: [{ name: "a", expression: "object.data.a == '2'" }] } },
    "condition-is-true": {
      mutations: ["Object{data: {'b': '2'}}"],
      spec: { matchConditions: [{ name: "a", expression: "object.data.a == '1'" }] },
    },
    "condition-fails": { mutations: [broken], spec: { matchConditions: [{ name: "a", expression: "object.data.none == '2'" }] } },
    "ignored-condition": {
      mutations: ["Object{data: {'b': '2'}}"],
      spec: { ...ignored, matchConditions: [{ name: "a", expression: "object.data.none == '2'" }] },
    },
    "too-expensive": "Object{data: {'b': string(lists.range(1000).map(x, lists.range(1000)).size())}}",
  };
  expect(await created({ api, namespace }, cases, { path: `${core}/configmaps`, object: configMap, show: dataOf })).toMatchSnapshot();
});

test("parameters of mutations", async ({ api, namespace, core }) => {
  for (const [name, value] of Object.entries({ one: "1", two: "2" }))
    await api.create(`${core}/secrets`, {
      metadata: { name, labels: { role: "limits" } },
      stringData: { value },
      type: "example.com/limits",
    });
  const added = ["Object{data: {params.metadata.name: string(has(params.kind))}}"];
  const paramKind = { apiVersion: "v1", kind: "Secret" };
  const spec = { paramKind };
  const byName = (name: string, parameterNotFoundAction: string): object => ({ paramRef: { name, parameterNotFoundAction } });
  const selector = { matchLabels: { role: "limits" } };
  const cases: Cases = {
    named: { mutations: added, spec, binding: { ...byName("one", "Deny") } },
    selected: { mutations: added, spec, binding: { paramRef: { selector, parameterNotFoundAction: "Deny" } } },
    "none-allowed": { mutations: added, spec, binding: byName("none", "Allow") },
    "none-denied": { mutations: added, spec, binding: byName("none", "Deny") },
    "none-denied-and-ignored": { mutations: added, spec: { ...spec, failurePolicy: "Ignore" }, binding: byName("none", "Deny") },
    "no-reference": { mutations: ["Object{data: {'b': string(params == null)}}"], spec },
    "unknown-kind": {
      mutations: added,
      // Such a policy refuses everything that its constraints match, whatever its binding says.
      spec: {
        paramKind: { apiVersion: "example.com/v1", kind: "Limit" },
        matchConstraints: {
          namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
          objectSelector: { matchLabels: { case: "unknown-kind" } },
          resourceRules: [{ apiGroups: ["*"], apiVersions: ["*"], operations: ["CREATE"], resources: ["*"] }],
        },
      },
      binding: byName("one", "Deny"),
    },
  };
  expect(await created({ api, namespace }, cases, { path: `${core}/configmaps`, object: configMap, show: dataOf })).toMatchSnapshot();
});

test("mutations of updates, patches and dry runs, but not of deletions", async ({ api, namespace, core }) => {
  await using _policies = await MutatingPolicies.create(api, namespace, {
    count: { mutations: [annotated("{'operation': request.operation, 'before': oldObject == null ? '' : string(oldObject.data.a)}")] },
  });
  const path = `${core}/configmaps`;
  const labels = { case: "count" };
  const seen = ({ status, body }: Answer): unknown => ({ status, data: body.data, annotations: body.metadata?.annotations });
  const answers = [
    await api.post(path, { metadata: { name: "c", labels }, data: { a: "1" } }),
    await api.put(`${path}/c`, { metadata: { name: "c", labels }, data: { a: "2" } }),
    await api.patch("merge", `${path}/c`, { data: { a: "3" } }),
    await api.patch("json", `${path}/c?dryRun=All`, [{ op: "replace", path: "/data/a", value: "4" }]),
    await api.apply(`${path}/c`, "me&force=true", { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" }, data: { a: "5" } }),
    await api.get(`${path}/c`),
  ];
  expect(answers.map(seen)).toMatchSnapshot("answers");
  const { body } = await api.get(`${path}/c`);
  // What a policy has set belongs to no field manager.
  const managed = body.metadata.managedFields.map((entry: Answer["body"]) => [entry.manager, entry.fieldsV1]);
  expect(managed.filter(([manager]: readonly [string]) => manager === "me")).toMatchSnapshot("managers");
  expect(JSON.stringify(managed)).not.toContain("f:annotations");
  expect((await api.delete(`${path}/c`)).status).toBe(200);
});

test("mutations of subresources and connections", async ({ api, namespace, core, apps }) => {
  const rules = (resource: string): object => ({
    matchConstraints: {
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
      resourceRules: [{ apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: [resource] }],
    },
  });
  const all = { binding: { matchResources: {} } };
  await api.create(`${apps}/deployments`, { ...deployment, spec: { ...deployment.spec, replicas: 0 } });
  await api.create(`${core}/pods`, {
    metadata: { name: "web" },
    spec: { schedulerName: "nobody", containers: [{ name: "main", image: "i" }] },
  });
  const send = async (name: string, mutation: string, resource: string, request: () => Promise<Answer>): Promise<unknown> => {
    await using _policies = await MutatingPolicies.create(api, namespace, {
      [name]: { mutations: [mutation], spec: rules(resource), ...all },
    });
    const answer = await request();
    const { spec, status, target, metadata } = answer.body;
    return withoutNamespace(
      {
        name,
        answer: answer.status < 300 ? { spec: spec?.replicas, status: status?.phase, target, labels: metadata?.labels } : refusal(answer),
      },
      namespace,
    );
  };
  const scale = { metadata: { name: "d", namespace }, spec: { replicas: 1 } };
  const pods = `${core}/pods/web`;
  expect([
    await send("scale-patch", patch("replace", "/spec/replicas", "2"), "deployments/scale", () =>
      api.put(`${apps}/deployments/d/scale?dryRun=All`, scale),
    ),
    await send("scale-object", "Object{spec: Object.spec{replicas: 2}}", "deployments/scale", () =>
      api.put(`${apps}/deployments/d/scale?dryRun=All`, scale),
    ),
    await send("status", "Object{status: Object.status{phase: 'Failed'}}", "pods/status", () =>
      api.patch("merge", `${pods}/status?dryRun=All`, { status: { phase: "Running" } }),
    ),
    await send("eviction-object", "Object{metadata: Object.metadata{labels: {'a': 'b'}}}", "pods/eviction", () =>
      api.post(`${pods}/eviction`, { metadata: { name: "web" }, deleteOptions: { dryRun: ["All"] } }),
    ),
    await send("eviction-patch", patch("add", "/deleteOptions/preconditions", "{'uid': 'other'}"), "pods/eviction", () =>
      api.post(`${pods}/eviction`, { metadata: { name: "web" }, deleteOptions: { dryRun: ["All"] } }),
    ),
    await send("binding", "Object{target: Object.target{name: ''}}", "pods/binding", () =>
      api.post(`${pods}/binding`, { metadata: { name: "web" }, target: { kind: "Node", name: "n1" } }),
    ),
    await send("token", "Object{spec: Object.spec{expirationSeconds: 5}}", "serviceaccounts/token", () =>
      api.post(`${core}/serviceaccounts/default/token`, { spec: {} }),
    ),
    await send("token-patch", patch("add", "/spec/expirationSeconds", "5"), "serviceaccounts/token", () =>
      api.post(`${core}/serviceaccounts/default/token`, { spec: {} }),
    ),
    await send("exec-object", "Object{container: 'other'}", "pods/exec", () => api.post(`${pods}/exec?command=a&stdout=true`)),
  ]).toMatchSnapshot();
});

test("policies are invoked again after a change", async ({ api, namespace, core }) => {
  const count = "Object{data: {'count': string(int(object.data[?'count'].orValue('0')) + 1)}}";
  const seen = (key: string): string => `object.data.exists(k, k == 'late') ? Object{data: {'${key}': 'yes'}} : Object{}`;
  const ifNeeded = { reinvocationPolicy: "IfNeeded" };
  const late = "Object{data: {'late': 'yes'}}";
  const cases: Cases = {
    "one-never": count,
    "one-if-needed": { mutations: [count], spec: ifNeeded },
    "sees-the-other": { mutations: [seen("sees")], spec: ifNeeded },
    other: { mutations: [late], case: "sees-the-other" },
    "conditions-of-the-changed-object": {
      mutations: ["Object{data: {'b': '2'}}", count],
      spec: { ...ifNeeded, matchConditions: [{ name: "a", expression: "!has(object.data.b)" }] },
    },
  };
  const { other: _other, ...shown } = await created({ api, namespace }, cases, {
    path: `${core}/configmaps`,
    object: configMap,
    show: dataOf,
  });
  expect(shown).toMatchSnapshot();
});

test("policies are invoked before webhooks, and again after their changes", async ({ api, namespace, core }) => {
  const seen = (key: string): string => `object.data.exists(k, k == 'hook') ? Object{data: {'${key}': 'yes'}} : Object{}`;
  await using hooks = await Webhooks.start(api, namespace, {
    "/": (review) =>
      patchOf([
        { op: "add", path: "/data/hook", value: "yes" },
        { op: "add", path: "/data/order", value: `${String(review.request.object.data.order ?? "")},hook` },
      ])(review),
  });
  await hooks.configure("Mutating", "all", { reinvocationPolicy: "IfNeeded", objectSelector: { matchLabels: { case: "hooked" } } });
  await using _policies = await MutatingPolicies.create(api, namespace, {
    hooked: {
      mutations: ["Object{data: {'order': object.data[?'order'].orValue('') + ',policy'}}"],
      spec: { reinvocationPolicy: "IfNeeded" },
    },
    again: { mutations: [seen("again")], spec: { reinvocationPolicy: "IfNeeded" }, case: "hooked" },
    never: { mutations: [seen("never")], case: "hooked" },
  });
  const { body } = await api.post(`${core}/configmaps?dryRun=All`, { ...configMap, metadata: { name: "c", labels: { case: "hooked" } } });
  expect(body.data).toMatchSnapshot();
});

test("mutations of custom resources", async ({ api, namespace }) => {
  await using things = await establishDefinition(api, {
    namespace,
    schema: {
      type: "object",
      properties: {
        spec: {
          type: "object",
          properties: {
            size: { type: "integer" },
            color: { type: "string", default: "red" },
            items: {
              type: "array",
              "x-kubernetes-list-type": "map",
              "x-kubernetes-list-map-keys": ["name"],
              items: { type: "object", required: ["name"], properties: { name: { type: "string" }, value: { type: "string" } } },
            },
            tags: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
            steps: { type: "array", items: { type: "string" } },
            free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
          },
        },
      },
    },
  });
  const spec = (fields: string): string => `Object{spec: Object.spec{${fields}}}`;
  const cases: Cases = {
    size: spec("size: object.spec.size + 1"),
    items: spec("items: [Object.spec.items{name: 'a', value: '2'}, Object.spec.items{name: 'b', value: '3'}]"),
    tags: spec("tags: ['y', 'x']"),
    steps: spec("steps: ['y']"),
    free: spec("free: Object.spec.free{a: Object.spec.free.a{b: 1}}"),
    "free-list": spec("free: Object.spec.free{a: [1]}"),
    "unknown-field": spec("other: 1"),
    "text-for-a-number": spec("size: 'x'"),
    "patch-of-a-default": patch("remove", "/spec/color"),
    "patch-of-an-unknown-field": patch("add", "/spec/other", "'x'"),
    "patch-with-a-wrong-type": patch("add", "/spec/size", "'x'"),
    "patch-of-the-kind": patch("replace", "/kind", "'Other'"),
  };
  const thing = {
    apiVersion: things.apiVersion,
    kind: things.kind,
    metadata: { name: "t" },
    spec: { size: 1, items: [{ name: "a", value: "1" }], tags: ["x"], steps: ["x"], free: { c: 1 } },
  };
  await untilSchemaIsKnown({ api, namespace }, things.path, thing);
  const show = (object: Answer["body"]): unknown => object.spec;
  expect(await created({ api, namespace }, cases, { path: things.path, object: thing, show })).toMatchSnapshot();
});

/** The real server reads the schemas of new resources after some seconds. @param thing - has an integer `spec.size`, which is not 2 */
async function untilSchemaIsKnown(
  { api, namespace }: { readonly api: Api; readonly namespace: string },
  path: string,
  thing: { readonly metadata: object },
): Promise<void> {
  await using _known = await MutatingPolicies.create(api, namespace, { known: { mutations: ["Object{spec: Object.spec{size: 2}}"] } });
  const labelled = { ...thing, metadata: { ...thing.metadata, labels: { case: "known" } } };
  await eventually(async () => expect((await api.post(`${path}?dryRun=All`, labelled)).body.spec.size).toBe(2), { timeoutMs: 60_000 });
}

test("numbers of mutations are stored as Go writes them, and what JSON does not have is refused", async ({ api, namespace }) => {
  const fields = { size: { type: "integer" }, sum: { type: "number" }, untyped: { "x-kubernetes-preserve-unknown-fields": true } };
  const sums = { type: "object", additionalProperties: { type: "number" } };
  const schema = { type: "object", properties: { spec: { type: "object", properties: { ...fields, sums } } } };
  await using things = await establishDefinition(api, { namespace, schema });
  const { apiVersion, kind, path } = things;
  const thing = { apiVersion, kind, metadata: { name: "t" }, spec: { size: 1 } };
  await untilSchemaIsKnown({ api, namespace }, path, thing);
  const numbers: Readonly<Record<string, string>> = {
    infinity: "1.0 / 0.0",
    "negative-infinity": "-1.0 / 0.0",
    "not-a-number": "0.0 / 0.0",
    "negative-zero": "-0.0",
    whole: "3.0",
    large: "1e21",
    "many-digits": "123456789012345680000.0",
    "beyond-64-bits": "1e19",
    small: "0.0000001",
    fraction: "0.1",
    unsigned: "3u",
  };
  const all: Record<string, PolicyCase> = {};
  for (const [name, number] of Object.entries(numbers))
    for (const field of Object.keys(fields)) {
      all[`${name}-${field}-apply`] = { mutations: [`Object{spec: Object.spec{${field}: ${number}}}`] };
      all[`${name}-${field}-patch`] = { mutations: [patch("add", `/spec/${field}`, number)] };
    }
  for (const name of ["infinity", "not-a-number"]) {
    all[`${name}-in-a-list`] = { mutations: [`Object{spec: Object.spec{untyped: [${numbers[name]}]}}`] };
    all[`${name}-in-a-patched-object`] = { mutations: [patch("add", "/spec/untyped", `Object.spec.untyped{a: [${numbers[name]}]}`)] };
    all[`${name}-in-a-patched-map`] = { mutations: [patch("add", "/spec/untyped", `{'a': [${numbers[name]}]}`)] };
    all[`${name}-in-an-object`] = { mutations: [`Object{spec: Object.spec{sums: Object.spec.sums{a: ${numbers[name]}}}}`] };
  }
  await using _policies = await MutatingPolicies.create(api, namespace, all);
  const text = async (method: string, url: string, body?: object): Promise<string> => {
    const headers = { "content-type": method === "PATCH" ? "application/merge-patch+json" : "application/json" };
    return (await api.bytes(method, url, body === undefined ? {} : { body, headers })).body.toString().trim();
  };
  const outcome = (answer: string): unknown => {
    const { kind: answered, code, reason, message } = JSON.parse(answer);
    if (answered !== "Status") return answer.slice(answer.indexOf('"spec":'));
    return [code, reason, String(message.replace(/^.* denied request: /, "")).replaceAll(namespace, "NS")];
  };
  const created: Record<string, unknown> = {};
  for (const key of Object.keys(all)) {
    const answer = await text("POST", path, { ...thing, metadata: { name: key, labels: { case: key } } });
    created[key] = outcome(answer);
    if (typeof created[key] === "string") expect(outcome(await text("GET", `${path}/${key}`))).toBe(created[key]);
  }
  expect(created).toMatchSnapshot("created");
  await api.create(path, thing);
  const changed: Record<string, unknown> = {};
  for (const key of ["infinity-sum-apply", "negative-infinity-untyped-apply", "not-a-number-in-an-object", "negative-zero-size-apply"]) {
    const labels = { case: key };
    changed[`${key}: dry run`] = outcome(await text("POST", `${path}?dryRun=All`, { ...thing, metadata: { name: `${key}-2`, labels } }));
    changed[key] = outcome(await text("PATCH", `${path}/t`, { metadata: { labels } }));
  }
  expect(changed).toMatchSnapshot("changed");
});

test("mutations in another version of the resource", async ({ api, namespace }) => {
  const rules = (matchPolicy: string): object => ({
    matchConstraints: {
      matchPolicy,
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
      resourceRules: [{ apiGroups: ["autoscaling"], apiVersions: ["v1"], operations: ["CREATE"], resources: ["horizontalpodautoscalers"] }],
    },
  });
  const mutations = [
    "Object{spec: Object.spec{targetCPUUtilizationPercentage: object.spec.targetCPUUtilizationPercentage + 1}}",
    annotated("{'seen': request.kind.version, 'requested': request.requestKind.version, 'object': string(object.apiVersion)}"),
  ];
  const cases: Cases = {
    equivalent: { mutations, spec: rules("Equivalent") },
    exact: { mutations, spec: rules("Exact") },
  };
  const object = {
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    metadata: { name: "a" },
    spec: {
      maxReplicas: 2,
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" },
      metrics: [{ type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 50 } } }],
    },
  };
  const path = `/apis/autoscaling/v2/namespaces/${namespace}/horizontalpodautoscalers`;
  const show = ({ apiVersion, metadata, spec }: Answer["body"]): unknown => ({
    apiVersion,
    annotations: metadata.annotations,
    metrics: spec.metrics,
  });
  expect(await created({ api, namespace }, cases, { path, object, show })).toMatchSnapshot();
});

difference("Objects within a list or map in a policy's JSON patch", async ({ api, namespace, core }) => {
  const value = "[Object.metadata.ownerReferences{apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u'}]";
  await using _policies = await MutatingPolicies.create(api, namespace, {
    list: { mutations: [patch("add", "/metadata/ownerReferences", value)] },
  });
  const answer = api.post(`${core}/configmaps?dryRun=All`, { ...configMap, metadata: { name: "c", labels: { case: "list" } } });

  // The real server panics and closes the connection.
  expect(await answer.then(({ status }) => String(status), String)).toBe(
    perServer({ embedded: "201", "kube-apiserver": "Error: socket hang up" }),
  );
});

difference("A double beyond 53 bits in an integer field, from a policy's apply configuration", async ({ api, namespace }) => {
  const schema = { type: "object", properties: { spec: { type: "object", properties: { size: { type: "integer" } } } } };
  await using things = await establishDefinition(api, { namespace, schema });
  const { apiVersion, kind, path } = things;
  const thing = { apiVersion, kind, metadata: { name: "t", labels: { case: "large" } }, spec: { size: 1 } };
  await untilSchemaIsKnown({ api, namespace }, path, thing);
  await using _policies = await MutatingPolicies.create(api, namespace, {
    large: { mutations: ["Object{spec: Object.spec{size: 9007199254740994.0}}"] },
  });

  expect((await api.post(`${path}?dryRun=All`, thing)).status).toBe(perServer({ embedded: 201, "kube-apiserver": 422 }));
});
