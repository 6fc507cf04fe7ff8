import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import type { Api } from "./support/api.ts";
import { test } from "./support/parity-test.ts";
import { refusals } from "./support/refusals.ts";

const policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
const bindings = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";

const matchConstraints = {
  resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["*"], resources: ["configmaps"] }],
};

const policy = (name: string, spec: object): object => ({ metadata: { name }, spec: { matchConstraints, ...spec } });

/** Policy and binding that apply to one namespace, which are removed after the callback. */
async function withPolicy(
  api: Api,
  namespace: string,
  spec: object,
  check: (path: string) => Promise<void>,
  own: object = {},
): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  // Refuses a config map of its own, so that it is known when the real server has read the policy.
  const validations = [{ expression: "object == null || object.metadata.name != 'probe'", message: "active" }];
  const { validations: more = [], ...rest } = spec as { readonly validations?: readonly object[] };
  await api.create(policies, policy(namespace, { ...rest, validations: [...validations, ...more] }));
  await api.create(bindings, {
    metadata: { name: namespace },
    spec: {
      policyName: namespace,
      validationActions: ["Deny"],
      matchResources: { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } } },
      ...own,
    },
  });
  try {
    await eventually(
      async () => {
        const { body, headers } = await api.post(`${path}?dryRun=All`, { metadata: { name: "probe" } });
        // Other refusals say that the policy's parameters are not known yet.
        expect(`${String(body.message)} ${String(headers["warning"])}`).toMatch(/\bactive\b/);
      },
      { timeoutMs: 60_000 },
    );
    await check(path);
  } finally {
    await api.delete(`${bindings}/${namespace}`);
    await api.delete(`${policies}/${namespace}`);
  }
}

const configMap = (name: string, data: object = {}, labels: object = {}): object => ({ metadata: { name, labels }, data });

test("expressions of policies have to compile", async ({ api }) => {
  const named = (spec: object): object => policy("expressions", spec);
  expect(
    await refusals(api, policies, {
      "unknown variable": named({ validations: [{ expression: "obj.a == 1" }] }),
      "not a condition": named({ validations: [{ expression: "object.a.size() + 1" }] }),
      "unknown type": named({ validations: [{ expression: "object.a" }] }),
      "wrong types": named({ validations: [{ expression: "request.name == 1" }] }),
      "fields of values that have none": named({
        validations: [{ expression: "authorizer.nosuch == 1" }, { expression: "quantity('1').nosuch == 1" }],
      }),
      "unknown field": named({ validations: [{ expression: "request.names == ''" }] }),
      "message of a number": named({ validations: [{ expression: "true", messageExpression: "1" }] }),
      "message with the authorizer": named({
        validations: [{ expression: "true", messageExpression: "authorizer.path('/').check('get').reason()" }],
      }),
      "match condition": named({ validations: [{ expression: "true" }], matchConditions: [{ name: "a", expression: "object.a +" }] }),
      "match condition of a text": named({ validations: [{ expression: "true" }], matchConditions: [{ name: "a", expression: "'a'" }] }),
      variable: named({ validations: [{ expression: "variables.a" }], variables: [{ name: "a", expression: "b" }] }),
      "variable of a number": named({ validations: [{ expression: "variables.a == 'x'" }], variables: [{ name: "a", expression: "1" }] }),
      "undeclared variable": named({ validations: [{ expression: "variables.b" }], variables: [{ name: "a", expression: "1" }] }),
      "later variable": named({
        validations: [{ expression: "true" }],
        variables: [
          { name: "a", expression: "variables.b" },
          { name: "b", expression: "1" },
        ],
      }),
      "parameters that are not declared": named({ validations: [{ expression: "params.a == 1" }] }),
      "audit annotation of a number": named({ auditAnnotations: [{ key: "a", valueExpression: "1" }] }),
      valid: named({
        paramKind: { apiVersion: "v1", kind: "ConfigMap" },
        variables: [{ name: "a", expression: "object.metadata.?labels.orValue({})" }],
        validations: [{ expression: "variables.a.all(k, k in params.data)", messageExpression: "'a' + string(variables.a.size())" }],
        auditAnnotations: [{ key: "a", valueExpression: "variables.a.size() > 1 ? 'many' : null" }],
      }),
    }),
  ).toMatchSnapshot();
});

test("policies refuse requests", async ({ api, namespace }) => {
  await withPolicy(
    api,
    namespace,
    {
      variables: [
        { name: "data", expression: "object == null ? {} : object.?data.orValue({})" },
        { name: "broken", expression: "object.data.none" },
      ],
      validations: [
        { expression: "variables.data.size() < 3" },
        { expression: "!('a' in variables.data) || variables.data.a == 'x'", message: "a is not x", reason: "Forbidden" },
        { expression: "!('b' in variables.data)", messageExpression: "'b is ' + variables.data.b" },
        { expression: "!('c' in variables.data)", messageExpression: "string(variables.data.none)", message: "the other message" },
        { expression: "!('d' in variables.data) || object.data.none == ''" },
        { expression: "!('e' in variables.data) || variables.broken == ''" },
        { expression: "!('f' in variables.data) || object.data.f > 1" },
        {
          expression: "request.operation != 'DELETE' || oldObject.metadata.name != 'kept'",
          message: "kept is kept",
          reason: "RequestEntityTooLarge",
        },
        {
          expression: "!('g' in variables.data) || namespaceObject.metadata.name == 'none'",
          messageExpression: "namespaceObject.metadata.name + ' ' + request.kind.kind",
        },
        {
          expression: "!('h' in variables.data) || !authorizer.group('').resource('pods').namespace('default').check('create').allowed()",
          message: "allowed",
        },
        {
          expression:
            "!('i' in variables.data) || [1, 2, 3].map(x, variables.data.i).map(y, lists.range(100).map(z, lists.range(100).map(v, lists.range(100)))).size() == 0",
        },
      ],
    },
    async (path) => {
      const each = Object.fromEntries(["a", "b", "c", "d", "e", "f", "g", "h", "i"].map((key) => [key, configMap("c", { [key]: "v" })]));
      expect(
        await refusals(api, path, { ...each, three: configMap("c", { x: "1", y: "2", z: "3" }), taken: configMap("c", { a: "x" }) }),
      ).toMatchSnapshot("creation");
      await api.create(path, configMap("kept"));
      const { status, body } = await api.delete(`${path}/kept`);
      expect({ status, reason: body.reason, message: body.message }).toMatchSnapshot("deletion");
    },
  );
});

test("match conditions, selectors and warnings of policies", async ({ api, namespace }) => {
  await withPolicy(
    api,
    namespace,
    {
      matchConditions: [
        { name: "labelled", expression: "object == null || !('free' in object.metadata.?labels.orValue({}))" },
        { name: "readable", expression: "object == null || !('bad' in object.metadata.?labels.orValue({})) || object.none" },
      ],
      validations: [{ expression: "object == null || !has(object.data)", message: "has data" }],
    },
    async (path) => {
      const send = async (name: string, object: object): Promise<object> => {
        const { status, body, headers } = await api.post(`${path}?dryRun=All`, object);
        return { name, status, message: status === 201 ? "" : body.message, warning: headers["warning"] };
      };
      expect([
        await send("warned", configMap("c", { a: "1" })),
        await send("free", configMap("c", { a: "1" }, { free: "yes" })),
        await send("condition fails", configMap("c", { a: "1" }, { bad: "yes" })),
        await send("no data", { metadata: { name: "c" } }),
      ]).toMatchSnapshot();
    },
    { validationActions: ["Warn", "Audit"] },
  );
});

test("parameters of policies", async ({ api, namespace }) => {
  const params = `/api/v1/namespaces/${namespace}/secrets`;
  await api.create(params, {
    metadata: { name: "limits", labels: { role: "limits" } },
    stringData: { max: "1" },
    type: "example.com/limits",
  });
  await withPolicy(
    api,
    namespace,
    {
      paramKind: { apiVersion: "v1", kind: "Secret" },
      validations: [
        {
          expression: "object == null || object.?data.orValue({}).size() <= size(params.data.max)",
          messageExpression: "'more than ' + params.metadata.name",
        },
      ],
    },
    async (path) => {
      const six = Object.fromEntries(["a", "b", "c", "d", "e", "f"].map((key) => [key, "1"]));
      expect(await refusals(api, path, { few: configMap("c", { a: "1" }), many: configMap("c", six) })).toMatchSnapshot("sizes");
      await api.delete(`${params}/limits`);
      const message = async (): Promise<unknown> => (await api.post(`${path}?dryRun=All`, configMap("c"))).body.message;
      await eventually(async () => expect(await message()).toContain("no params found"), { timeoutMs: 60_000 });
      expect(await refusals(api, path, { none: configMap("c") })).toMatchSnapshot("none");
    },
    { paramRef: { selector: { matchLabels: { role: "limits" } }, parameterNotFoundAction: "Deny" } },
  );
});

test("policies see objects in the version that their rules match, and apply to webhook configurations", async ({ api, namespace }) => {
  const configurations = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
  const autoscalers = `/apis/autoscaling/v2/namespaces/${namespace}/horizontalpodautoscalers`;
  const rule = (group: string, version: string, resource: string): object => ({
    apiGroups: [group],
    apiVersions: [version],
    operations: ["CREATE", "CONNECT"],
    resources: [resource],
  });
  await api.create(policies, {
    metadata: { name: namespace },
    spec: {
      matchConstraints: {
        objectSelector: { matchLabels: { checked: namespace } },
        resourceRules: [
          rule("autoscaling", "v1", "horizontalpodautoscalers"),
          rule("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations"),
          rule("admissionregistration.k8s.io", "v1", "validatingadmissionpolicybindings"),
          rule("", "v1", "pods/exec"),
        ],
      },
      validations: [
        {
          expression: "false",
          messageExpression: "string(object.kind) + ' ' + request.kind.version + ' of ' + request.requestKind.version",
        },
      ],
    },
  });
  await api.create(bindings, { metadata: { name: namespace }, spec: { policyName: namespace, validationActions: ["Deny"] } });
  const metadata = { name: `c-${namespace}`, labels: { checked: namespace } };
  const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "d" };
  const answered = async (path: string, body?: object): Promise<string> => {
    const answer = await api.post(body === undefined ? path : `${path}?dryRun=All`, body);
    return `${answer.status} ${String(answer.body.message ?? "")}`.replaceAll(namespace, "NS");
  };
  try {
    await eventually(async () => expect(await answered(configurations, { metadata })).toContain("denied request"), { timeoutMs: 60_000 });
    expect([
      await answered(configurations, { metadata }),
      await answered(autoscalers, { metadata, spec: { maxReplicas: 2, scaleTargetRef } }),
      await answered(bindings, { metadata, spec: { policyName: "none", validationActions: ["Deny"] } }),
      // Options of a connection have no labels, so the selector does not select them.
      await answered(`/api/v1/namespaces/${namespace}/pods/none/exec?command=a&stdout=true`),
    ]).toMatchSnapshot();
  } finally {
    await api.delete(`${bindings}/${namespace}`);
    await api.delete(`${policies}/${namespace}`);
  }
});
