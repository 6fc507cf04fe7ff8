import { expect, test } from "vitest";
import { startTestServer, type TestServer } from "../../test-support/test-server.ts";

const policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
const bindings = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
const configMaps = "/api/v1/namespaces/default/configmaps";

const configMapRules = {
  resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE", "UPDATE", "DELETE"], resources: ["configmaps"] }],
};

const policy = (spec: object): object => ({ metadata: { name: "p" }, spec: { matchConstraints: configMapRules, ...spec } });
const binding = (spec: object = {}): object => ({
  metadata: { name: "b" },
  spec: { policyName: "p", validationActions: ["Deny"], ...spec },
});

async function bind(api: TestServer, spec: object, own: object = {}): Promise<void> {
  expect(await api.request("POST", policies, policy(spec))).toMatchObject({ status: 201 });
  expect(await api.request("POST", bindings, binding(own))).toMatchObject({ status: 201 });
}

const create = async (api: TestServer, data: object, labels: object = {}): ReturnType<TestServer["request"]> =>
  await api.request("POST", `${configMaps}?dryRun=All`, { metadata: { name: "c", labels }, data });

test("a bound policy refuses what its validations do not permit, in the words of the real server", async () => {
  await using api = await startTestServer();
  await bind(api, {
    variables: [{ name: "size", expression: "has(object.data) ? object.data.size() : 0" }],
    validations: [{ expression: "variables.size < 2", messageExpression: "'too many: ' + string(variables.size)", reason: "Forbidden" }],
  });

  expect((await create(api, { a: "1" })).status).toBe(201);
  const message = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: too many: 2";
  expect((await create(api, { a: "1", b: "2" })).body).toMatchObject({
    code: 403,
    reason: "Forbidden",
    message: `configmaps "c" is forbidden: ${message}`,
    details: { name: "c", kind: "configmaps", causes: [{ message }] },
  });
});

test("a policy without a binding refuses nothing, and a deleted binding no longer applies", async () => {
  await using api = await startTestServer();
  await api.request("POST", policies, policy({ validations: [{ expression: "false" }] }));
  expect((await create(api, {})).status).toBe(201);
  await api.request("POST", bindings, binding());
  expect((await create(api, {})).status).toBe(422);
  await api.request("DELETE", `${bindings}/b`);
  expect((await create(api, {})).status).toBe(201);
});

test("with the action Warn, a policy only warns", async () => {
  await using api = await startTestServer();
  await bind(api, { validations: [{ expression: "false", message: "never" }] }, { validationActions: ["Warn"] });

  const { status, headers } = await create(api, {});
  expect(status).toBe(201);
  expect(headers["warning"]).toContain("Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': never");
});

test("errors of an evaluation refuse the request, unless the failure policy is Ignore", async () => {
  await using api = await startTestServer();
  await bind(api, { validations: [{ expression: "object.data.missing == 'x'" }] });
  const error = "expression 'object.data.missing == 'x'' resulted in error: no such key: missing";
  expect((await create(api, { a: "1" })).body.message).toContain(error);

  const { body } = await api.request("GET", `${policies}/p`);
  body.spec.failurePolicy = "Ignore";
  await api.request("PUT", `${policies}/p`, body);
  expect((await create(api, { a: "1" })).status).toBe(201);
});

test("parameters come from the binding's reference", async () => {
  await using api = await startTestServer();
  await bind(
    api,
    {
      paramKind: { apiVersion: "v1", kind: "ConfigMap" },
      matchConditions: [{ name: "not-the-parameters", expression: "!(object.metadata.name in ['limits'])" }],
      validations: [{ expression: "object.data.size() <= int(params.data.max)" }],
    },
    { paramRef: { name: "limits", namespace: "default", parameterNotFoundAction: "Deny" } },
  );
  expect((await create(api, { a: "1" })).body.message).toContain("no params found for policy binding with `Deny` parameterNotFoundAction");
  const { metadata: _none, ...params } = { data: { max: "1" }, metadata: {} };
  await api.request("DELETE", `${bindings}/b`);
  await api.request("POST", configMaps, { metadata: { name: "limits" }, ...params });
  await api.request("POST", bindings, binding({ paramRef: { name: "limits", namespace: "default", parameterNotFoundAction: "Deny" } }));
  expect((await create(api, { a: "1" })).status).toBe(201);
  expect((await create(api, { a: "1", b: "2" })).status).toBe(422);
});

test("selectors, the user and the authorizer decide as in the real server", async () => {
  await using api = await startTestServer();
  await bind(
    api,
    {
      validations: [
        { expression: "request.userInfo.username == 'nobody'", message: "user" },
        { expression: "!authorizer.requestResource.check('delete').allowed()", message: "authorizer" },
        { expression: "namespaceObject.metadata.name != 'default'", message: "namespace" },
      ],
    },
    { matchResources: { objectSelector: { matchLabels: { checked: "yes" } } } },
  );
  expect((await create(api, {})).status).toBe(201);
  expect((await create(api, {}, { checked: "yes" })).body.message).toMatch(/denied request: user$/);
});

test("policies whose expressions do not compile are refused", async () => {
  await using api = await startTestServer();
  const { status, body } = await api.request(
    "POST",
    policies,
    policy({ validations: [{ expression: "object.a +" }, { expression: "1" }] }),
  );
  expect(status).toBe(422);
  expect(body.message).toContain('spec.validations[1].expression: Invalid value: "1": must evaluate to bool but got int');
});
