import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import type { Api } from "./support/api.ts";
import { test } from "./support/parity-test.ts";

const policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

const rule = (group: string, version: string, ...resources: readonly string[]): object => ({
  apiGroups: [group],
  apiVersions: [version],
  operations: ["CREATE"],
  resources,
});

const deployments = rule("apps", "v1", "deployments");
const pods = rule("", "v1", "pods");

/** Spec of a policy with these validations. */
const checked = (resourceRules: readonly object[], expressions: readonly string[], more: object = {}): object => ({
  matchConstraints: { resourceRules },
  validations: expressions.map((expression) => ({ expression })),
  ...more,
});

/** Status of a policy once a controller has seen its newest generation. Types of objects have names with a number. */
async function statusOf(api: Api, name: string): Promise<unknown> {
  return eventually(
    async () => {
      const { metadata, status } = (await api.get(`${policies}/${name}`)).body;
      expect(status.observedGeneration).toBe(metadata.generation);
      return JSON.parse(JSON.stringify(status).replaceAll(/\b([A-Z]\w*[A-Za-z])\d{1,9}\b/g, "$1<number>"));
    },
    { timeoutMs: 60_000 },
  );
}

/** Statuses of policies with these specs, which are removed again. */
async function statuses(api: Api, prefix: string, specs: Readonly<Record<string, object>>): Promise<Record<string, unknown>> {
  const named = Object.entries(specs).map(([title, spec], index) => ({ title, spec, name: `${prefix}-${index}` }));
  const found: Record<string, unknown> = {};
  try {
    for (const { name, spec } of named) await api.create(policies, { metadata: { name }, spec });
    for (const { title, name } of named) found[title] = await statusOf(api, name);
  } finally {
    for (const { name } of named) await api.delete(`${policies}/${name}`);
  }
  return found;
}

test("the status of a policy has warnings about expressions that do not fit the types of its resources", async ({ api, namespace }) => {
  expect(
    await statuses(api, namespace, {
      "no problems": checked(
        [deployments],
        ["object.spec.replicas > 1", "!has(object.metadata.labels) || object.metadata.labels.size() < 9"],
      ),
      "unknown fields": checked([deployments], ["object.spec.replica > 1", "object.specs == oldObject.spec && object.x"]),
      "another type": checked([deployments], ["object.spec.replicas > '1'", "object.spec.template == 'a'"]),
      "a field of one of two kinds": checked([rule("apps", "v1", "deployments", "replicasets")], ["has(object.spec.strategy)"]),
      "a field of neither": checked([deployments, rule("apps", "v1", "replicasets")], ["object.spec.nosuch == 1"]),
      messages: {
        ...checked([deployments], []),
        validations: [
          { expression: "object.spec.paused == true", messageExpression: "'paused: ' + object.spec.paused" },
          { expression: "object.spec.pause == true", messageExpression: "string(object.spec.pause)" },
        ],
      },
      "several lines": checked([deployments], ["object.spec.replicas > 1 &&\n  object.spec.nosuch == 1 &&\n  object.nosuch == 2"]),
      "lists and maps": checked(
        [deployments],
        [
          "object.spec.template.spec.containers.all(c, c.image.startsWith('a') && c.nosuch)",
          "object.metadata.labels.exists(k, object.metadata.labels[k] == 1)",
          "object.spec.template.spec.containers.map(c, c.name)[0] == 1",
          "object.spec.template.spec.containers[0].ports[0] == object.spec.template.spec.containers[0]",
        ],
      ),
      quantities: checked(
        [pods],
        ["object.spec.containers[0].resources.requests.size() > 0", "object.spec.containers[0].resources.nosuch == 1"],
      ),
      "ports, times and bytes": checked(
        [pods, rule("", "v1", "secrets"), rule("coordination.k8s.io", "v1", "leases")],
        [
          "object.spec.containers[0].livenessProbe.httpGet.port == 'a'",
          "object.metadata.creationTimestamp == 'a'",
          "object.data['a'] == 'b'",
          "object.spec.acquireTime > timestamp('2024-01-01T00:00:00Z')",
          "object.metadata.managedFields[0].fieldsV1.nosuch == 1",
        ],
      ),
      "the authorizer and the request": checked(
        [pods],
        [
          "authorizer.requestResource.check('get').allowed()",
          "authorizer.path('/').check('get').allowed() && request.name == object.metadata.name",
        ],
      ),
      "the namespace": checked([pods], ["namespaceObject.metadata.name == object.spec.nosuch"]),
    }),
  ).toMatchSnapshot();
});

test("type checking looks at the kinds that rules name without wildcards", async ({ api, namespace }) => {
  const nosuch = ["object.nosuch == 1"];
  const many = ["configmaps", "endpoints", "events", "limitranges", "namespaces", "nodes", "persistentvolumeclaims", "persistentvolumes"];
  expect(
    await statuses(api, namespace, {
      "all groups": checked([rule("*", "v1", "pods")], nosuch),
      "all versions": checked([rule("apps", "*", "deployments")], nosuch),
      "all resources": checked([rule("apps", "v1", "*")], nosuch),
      "a subresource beside a resource": checked([rule("apps", "v1", "deployments/scale", "replicasets")], nosuch),
      "a singular name": checked([rule("apps", "v1", "deployment")], nosuch),
      "a kind of another group without a group": checked([rule("", "v1", "deployments", "events")], nosuch),
      "unknown resources": checked([rule("apps", "v1", "nosuch"), rule("nosuch.example.com", "v1", "pods")], nosuch),
      "more than ten kinds": checked([rule("", "v1", ...many, "pods", "secrets", "services", "serviceaccounts")], nosuch),
      "several rules with more than ten kinds": checked([rule("", "v1", ...many), rule("", "v1", "pods", "secrets", "services")], nosuch),
      "one kind by two rules": checked([pods, pods], nosuch),
      "kinds without objects": checked(
        [rule("", "v1", "bindings", "componentstatuses"), rule("authentication.k8s.io", "v1", "tokenreviews")],
        nosuch,
      ),
      "two versions": checked(
        [{ ...rule("autoscaling", "v1", "horizontalpodautoscalers"), apiVersions: ["v2", "v1"] }],
        ["object.spec.metrics.size() > 0"],
      ),
    }),
  ).toMatchSnapshot();
});

test("type checking knows variables and parameters", async ({ api, namespace }) => {
  const variables = [
    { name: "replicas", expression: "object.spec.replicas" },
    { name: "template", expression: "object.spec.template" },
    { name: "broken", expression: "object.spec.nosuch" },
    { name: "names", expression: "object.spec.template.spec.containers.map(c, c.name)" },
    { name: "sum", expression: "variables.replicas + object.spec.replicas" },
  ];
  const configMaps = { apiVersion: "v1", kind: "ConfigMap" };
  expect(
    await statuses(api, namespace, {
      variables: checked(
        [deployments],
        [
          "variables.replicas == 'a'",
          "variables.template.nosuch == 1",
          "variables.broken == 1",
          "variables.names[0] == 1",
          "variables.sum == 'a'",
        ],
        { variables },
      ),
      parameters: checked([deployments], ["params.data.size() > 1", "params.data['a'] == 1", "params.nosuch == 1"], {
        paramKind: configMaps,
      }),
      "parameters of an unknown kind": checked([deployments], ["params.nosuch == 1 && object.nosuch"], {
        paramKind: { apiVersion: "nosuch.example.com/v1", kind: "Nosuch" },
      }),
    }),
  ).toMatchSnapshot();
});

test("type checking uses the schemas of custom resources", async ({ api, namespace }) => {
  const group = `${namespace}.example.com`;
  const nested = {
    size: { type: "integer" },
    port: { "x-kubernetes-int-or-string": true },
    free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    template: { type: "object", "x-kubernetes-embedded-resource": true, properties: { spec: { type: "object" } } },
    "with-dash": { type: "string" },
  };
  const schema = { openAPIV3Schema: { type: "object", properties: { spec: { type: "object", properties: nested } } } };
  await api.create(definitions, {
    metadata: { name: `widgets.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
      versions: [
        { name: "v1", served: true, storage: true, schema },
        { name: "v2", served: true, storage: false, schema },
      ],
    },
  });
  try {
    // The controller of the real server checks a policy once, with what discovery and OpenAPI say then.
    for (const version of ["v1", "v2"])
      for (const path of [`/apis/${group}/${version}`, `/openapi/v3/apis/${group}/${version}`])
        await eventually(async () => expect(JSON.stringify((await api.get(path)).body)).toContain("Widget"), { timeoutMs: 60_000 });
    const specs = {
      fields: checked(
        [{ ...rule(group, "v1", "widgets"), apiVersions: ["v1", "v2"] }],
        [
          "object.spec.size == 'a'",
          "object.spec.port == 'a' || object.spec.port == 1",
          "object.spec.free.any == 1",
          "object.spec.template.metadata.name == 1",
          "object.spec.template.metadata.labels.size() > 0",
          "object.spec.with__dash__dash == 1",
          "object.metadata.labels['a'] == 1",
          "object.metadata.nosuch == 1",
          "object.kind == 1",
        ],
      ),
      parameters: checked([deployments], ["params.spec.size == 'a'"], { paramKind: { apiVersion: `${group}/v1`, kind: "Widget" } }),
    };
    const text = JSON.stringify(await statuses(api, namespace, specs)).replaceAll(group, "GROUP");
    expect(JSON.parse(text)).toMatchSnapshot();
  } finally {
    await api.delete(`${definitions}/widgets.${group}`);
  }
});

test("a policy is checked again when its spec changes", async ({ api, namespace }) => {
  const path = `${policies}/${namespace}`;
  await api.create(policies, { metadata: { name: namespace }, spec: checked([pods], ["object.nosuch == 1"]) });
  try {
    const first = await statusOf(api, namespace);
    const { metadata } = (await api.get(path)).body;
    await api.patch("merge", path, { spec: { validations: [{ expression: "object.spec.nodeName == 'a'" }] } });
    const second = await statusOf(api, namespace);
    await api.patch("merge", path, { metadata: { labels: { a: "b" } } });
    expect({ first, second, third: await statusOf(api, namespace) }).toMatchSnapshot("statuses");
    expect(metadata.managedFields.find(({ subresource }: { subresource?: string }) => subresource === "status")).toMatchSnapshot(
      "managers",
    );
  } finally {
    await api.delete(path);
  }
});
