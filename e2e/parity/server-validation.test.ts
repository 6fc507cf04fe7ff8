import { expect } from "vitest";
import { test } from "./support/parity-test.ts";
import { refusals, refusedChanges } from "./support/refusals.ts";

const named = (fields: object, name: string = "a"): object => ({ metadata: { name }, ...fields });
const admission = "/apis/admissionregistration.k8s.io/v1";
const flowControl = "/apis/flowcontrol.apiserver.k8s.io/v1";
const anyRule = { operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] };

test("webhook configurations are validated", async ({ api, namespace }) => {
  const webhook = (fields: object): object => ({
    name: "a.example.com",
    admissionReviewVersions: ["v1"],
    sideEffects: "None",
    failurePolicy: "Ignore",
    clientConfig: { url: "https://nowhere.invalid/a" },
    ...fields,
  });
  const one = (fields: object): object => named({ webhooks: [webhook(fields)] });
  const rule = (fields: object): object => one({ rules: [{ ...anyRule, ...fields }] });
  const client = (clientConfig: object): object => one({ clientConfig });
  const service = (fields: object): object => client({ service: { namespace: "a", name: "b", ...fields } });
  const cases = {
    "no name": one({ name: "" }),
    "short name": one({ name: "a.b" }),
    "invalid name": one({ name: "A_.b.c" }),
    "name twice": named({ webhooks: [webhook({}), webhook({})] }),
    "failure policy": one({ failurePolicy: "Wait" }),
    "match policy": one({ matchPolicy: "Roughly" }),
    "no side effects given": one({ sideEffects: undefined }),
    "side effects": one({ sideEffects: "Some" }),
    timeout: one({ timeoutSeconds: 31 }),
    selectors: one({
      namespaceSelector: { matchLabels: { "a b": "c" } },
      objectSelector: { matchExpressions: [{ key: "a", operator: "In" }] },
    }),
    "no review versions": one({ admissionReviewVersions: [] }),
    "unknown review version": one({ admissionReviewVersions: ["v2", "v2", "A_"] }),
    "no client": client({}),
    "both clients": client({ url: "https://a.b/c", service: { namespace: "a", name: "b" } }),
    "http url": client({ url: "http://a.b/c" }),
    "url without host": client({ url: "https:///c" }),
    "url with everything": client({ url: "https://u:p@a.b/c?d=e#f" }),
    "service without names": service({ namespace: "", name: "" }),
    "service port": service({ port: 70_000 }),
    "service path": service({ path: "a//B_/" }),
    "no operations": rule({ operations: [] }),
    operations: rule({ operations: ["*", "READ"] }),
    "no groups, versions and resources": rule({ apiGroups: [], apiVersions: [], resources: [] }),
    wildcards: rule({ apiGroups: ["*", "a"], apiVersions: ["*", ""], resources: ["*", "pods"] }),
    subresources: rule({ resources: ["pods/*", "pods/log", "*/status", "pods/status", ""] }),
    "all subresources": rule({ resources: ["*/*", "pods"] }),
    scope: rule({ scope: "World" }),
    "match conditions": one({
      matchConditions: [
        { name: "", expression: " " },
        { name: "a b", expression: "true" },
        { name: "a b", expression: "true" },
      ],
    }),
  };
  expect(await refusals(api, `${admission}/validatingwebhookconfigurations`, cases)).toMatchSnapshot("validating");
  expect(
    await refusals(api, `${admission}/mutatingwebhookconfigurations`, {
      reinvocation: one({ reinvocationPolicy: "Always" }),
      "no client": client({}),
    }),
  ).toMatchSnapshot("mutating");
  const path = `${admission}/validatingwebhookconfigurations`;
  await api.create(path, named({ webhooks: [webhook({})] }, namespace));
  expect(await refusedChanges(api, `${path}/${namespace}`, { "no client": { webhooks: [webhook({ clientConfig: {} })] } })).toMatchSnapshot(
    "update",
  );
  await api.delete(`${path}/${namespace}`);
});

test("admission policies and bindings are validated", async ({ api }) => {
  const policy = (fields: object): object =>
    named({ spec: { matchConstraints: { resourceRules: [anyRule] }, validations: [{ expression: "true" }], ...fields } });
  const validation = (fields: object): object => policy({ validations: [{ expression: "true", ...fields }] });
  expect(
    await refusals(api, `${admission}/validatingadmissionpolicies`, {
      "failure policy": policy({ failurePolicy: "Wait" }),
      "no constraints": policy({ matchConstraints: undefined }),
      "no rules": policy({ matchConstraints: { resourceRules: [] } }),
      rules: policy({
        matchConstraints: { matchPolicy: "Roughly", resourceRules: [{ ...anyRule, resourceNames: ["a/b", "a/b"], operations: ["READ"] }] },
      }),
      "empty kind of parameters": policy({ paramKind: { apiVersion: "", kind: "" } }),
      "kind of parameters": policy({ paramKind: { apiVersion: "A_/1", kind: "a_b" } }),
      "version of parameters": policy({ paramKind: { apiVersion: "a/b/c", kind: "K" } }),
      "nothing to check": policy({ validations: [] }),
      "no expression": validation({ expression: " " }),
      "blank messages": validation({ message: " ", messageExpression: " " }),
      "line break": validation({ message: "a\nb" }),
      reason: validation({ reason: "Because" }),
      variables: policy({ variables: [{ name: "", expression: "" }] }),
      "variable name": policy({ variables: [{ name: "a-b", expression: "1" }] }),
      annotations: policy({
        auditAnnotations: [
          { key: "a b", valueExpression: " " },
          { key: "a b", valueExpression: "'a'" },
        ],
      }),
      "match conditions": policy({ matchConditions: [{ name: "", expression: "" }] }),
    }),
  ).toMatchSnapshot("policies");
  const binding = (fields: object): object => named({ spec: { policyName: "p", validationActions: ["Deny"], ...fields } });
  const reference = (paramRef: object): object => binding({ paramRef });
  expect(
    await refusals(api, `${admission}/validatingadmissionpolicybindings`, {
      "no policy": binding({ policyName: "" }),
      policy: binding({ policyName: "A_" }),
      "no actions": binding({ validationActions: [] }),
      actions: binding({ validationActions: ["Deny", "Warn", "Warn", "Ask"] }),
      "empty parameters": reference({}),
      parameters: reference({ name: "a/b", selector: {}, parameterNotFoundAction: "Ask" }),
      "parameter name": reference({ name: "a", parameterNotFoundAction: "Deny" }),
    }),
  ).toMatchSnapshot("bindings");
  const mutating = (fields: object): object =>
    named({
      spec: {
        matchConstraints: { resourceRules: [anyRule] },
        reinvocationPolicy: "Never",
        mutations: [{ patchType: "ApplyConfiguration", applyConfiguration: { expression: "Object{}" } }],
        ...fields,
      },
    });
  expect(
    await refusals(api, `${admission}/mutatingadmissionpolicies`, {
      "no mutations": mutating({ mutations: [] }),
      "patch types": mutating({
        mutations: [
          { patchType: "" },
          { patchType: "Merge" },
          { patchType: "JSONPatch" },
          { patchType: "ApplyConfiguration", jsonPatch: { expression: "[]" } },
        ],
      }),
      operations: mutating({ matchConstraints: { resourceRules: [{ ...anyRule, operations: ["DELETE"] }] } }),
      "no reinvocation": mutating({ reinvocationPolicy: undefined }),
      reinvocation: mutating({ reinvocationPolicy: "Always" }),
    }),
  ).toMatchSnapshot("mutating policies");
});

test("API services are validated", async ({ api }) => {
  const service = (spec: object, name: string = "v1.example.com"): object =>
    named({ spec: { group: "example.com", version: "v1", groupPriorityMinimum: 1, versionPriority: 1, ...spec } }, name);
  expect(
    await refusals(api, "/apis/apiregistration.k8s.io/v1/apiservices", {
      name: service({}, "v2.example.com"),
      "name with a slash": service({}, "v1/example.com"),
      "no group": service({ group: "", version: "v2" }, "v2."),
      group: service({ group: "A_" }, "v1.A_"),
      version: service({ version: "1" }, "1.example.com"),
      priorities: service({ groupPriorityMinimum: 0, versionPriority: 0 }),
      "high priorities": service({ groupPriorityMinimum: 20_001, versionPriority: 1001 }),
      "local with security": service({ caBundle: "YWJj", insecureSkipTLSVerify: true }),
      "empty service": service({ service: {} }),
      "service port": service({ service: { namespace: "a", name: "b", port: 70_000 } }),
      "authority and no check": service({ service: { namespace: "a", name: "b" }, caBundle: "YWJj", insecureSkipTLSVerify: true }),
    }),
  ).toMatchSnapshot();
});

test("flow schemas and priority levels are validated", async ({ api, namespace }) => {
  const schema = (spec: object): object => named({ spec: { priorityLevelConfiguration: { name: "l" }, ...spec } });
  const rule = (fields: object): object =>
    schema({
      rules: [
        { subjects: [{ kind: "User", user: { name: "u" } }], nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }], ...fields },
      ],
    });
  const subjects = (...list: object[]): object => rule({ subjects: list });
  const resources = (fields: object): object =>
    rule({ resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], ...fields }] });
  expect(
    await refusals(api, `${flowControl}/flowschemas`, {
      "negative precedence": schema({ matchingPrecedence: -1 }),
      "high precedence": schema({ matchingPrecedence: 10_001 }),
      "precedence 1": schema({ matchingPrecedence: 1 }),
      method: schema({ distinguisherMethod: { type: "ByDay" } }),
      "no level": schema({ priorityLevelConfiguration: { name: "" } }),
      level: schema({ priorityLevelConfiguration: { name: "A_" } }),
      "empty rule": schema({ rules: [{ subjects: [] }] }),
      "subject kind": subjects({ kind: "Robot" }),
      "subjects without names": subjects(
        { kind: "User" },
        { kind: "Group", group: { name: "" } },
        { kind: "ServiceAccount", serviceAccount: { name: "", namespace: "" } },
      ),
      "other subjects": subjects(
        { kind: "User", user: { name: "u" }, group: { name: "g" }, serviceAccount: { name: "s", namespace: "n" } },
        { kind: "ServiceAccount", serviceAccount: { name: "A_", namespace: "B_" }, user: { name: "u" } },
      ),
      "no verbs": rule({ nonResourceRules: [{ verbs: [], nonResourceURLs: [] }] }),
      verbs: rule({ nonResourceRules: [{ verbs: ["*", "get"], nonResourceURLs: ["*", "/a"] }] }),
      "unknown verb": rule({ nonResourceRules: [{ verbs: ["dance"], nonResourceURLs: ["a", "/a b", "/a//b", "/a*", "/*", "/"] }] }),
      "no resources": resources({ verbs: [], apiGroups: [], resources: [], namespaces: [] }),
      wildcards: resources({ verbs: ["*", "get"], apiGroups: ["*", "a"], resources: ["*", "b"], namespaces: ["*", "c"] }),
      namespace: resources({ namespaces: ["A_"] }),
    }),
  ).toMatchSnapshot("schemas");
  const level = (spec: object): object => named({ spec });
  const limited = (fields: object): object => level({ type: "Limited", limited: { limitResponse: { type: "Reject" }, ...fields } });
  const queuing = (fields: object): object =>
    limited({ limitResponse: { type: "Queue", queuing: { queues: 8, handSize: 4, queueLengthLimit: 1, ...fields } } });
  expect(
    await refusals(api, `${flowControl}/prioritylevelconfigurations`, {
      "no type": level({ type: "" }),
      type: level({ type: "Some" }),
      exempt: level({ type: "Exempt" }),
      "no limit": level({ type: "Limited" }),
      "exempt and limited": level({ type: "Limited", exempt: {}, limited: { limitResponse: { type: "Reject" } } }),
      numbers: limited({ nominalConcurrencyShares: -1, lendablePercent: 101, borrowingLimitPercent: -1 }),
      "no response": limited({ limitResponse: { type: "" } }),
      response: limited({ limitResponse: { type: "Wait" } }),
      "rejection with queues": limited({ limitResponse: { type: "Reject", queuing: {} } }),
      "queue without queues": limited({ limitResponse: { type: "Queue" } }),
      "negative queues": queuing({ queues: -1, handSize: -1, queueLengthLimit: -1 }),
      "many queues": queuing({ queues: 10_000_001 }),
      "large hand": queuing({ handSize: 9 }),
      "hand needs many bits": queuing({ queues: 1024, handSize: 7 }),
    }),
  ).toMatchSnapshot("levels");
  await api.create(`${flowControl}/flowschemas`, named({ spec: { priorityLevelConfiguration: { name: "l" } } }, namespace));
  expect(
    await refusedChanges(api, `${flowControl}/flowschemas/${namespace}`, { level: { spec: { priorityLevelConfiguration: { name: "" } } } }),
  ).toMatchSnapshot("update");
  await api.delete(`${flowControl}/flowschemas/${namespace}`);
});

test("match conditions of webhooks have to compile", async ({ api, namespace }) => {
  const configurations = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations?dryRun=All";
  const answer = async (...matchConditions: readonly { name: string; expression: string }[]): Promise<unknown> => {
    const { status, body } = await api.post(configurations, {
      metadata: { name: namespace },
      webhooks: [
        {
          name: "conditions.example.com",
          admissionReviewVersions: ["v1"],
          sideEffects: "None",
          clientConfig: { url: "https://127.0.0.1:1/" },
          matchConditions,
        },
      ],
    });
    return status === 201 ? status : body.details.causes.map(({ field, message }: Record<string, string>) => `${field}: ${message}`);
  };
  expect(await answer({ name: "a", expression: " object.metadata.name != 'skip-me' " })).toBe(201);
  expect(await answer({ name: "a", expression: "authorizer.group('').resource('pods').check('get').allowed()" })).toBe(201);
  expect(await answer({ name: "a", expression: " 'text' " })).toMatchInlineSnapshot(
    `["webhooks[0].matchConditions[0].expression: Invalid value: \\"'text'\\": must evaluate to bool but got string"]`,
  );
  expect(await answer({ name: "a", expression: "params.x == 1" })).toMatchInlineSnapshot(`
    [
      "webhooks[0].matchConditions[0].expression: Invalid value: \\"params.x == 1\\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'params' (in container '')\\n | params.x == 1\\n | ^",
    ]
  `);
  expect(await answer({ name: "a/b/c", expression: "1 +" }, { name: "a", expression: " " }, { name: "a", expression: "nosuch" }))
    .toMatchInlineSnapshot(`
    [
      "webhooks[0].matchConditions[0].expression: Invalid value: \\"1 +\\": compilation failed: ERROR: <input>:1:4: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\\n | 1 +\\n | ...^",
      "webhooks[0].matchConditions[0].name: Invalid value: \\"a/b/c\\": a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
      "webhooks[0].matchConditions[1].expression: Required value",
      "webhooks[0].matchConditions[2].expression: Invalid value: \\"nosuch\\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'nosuch' (in container '')\\n | nosuch\\n | ^",
      'webhooks[0].matchConditions[2].name: Duplicate value: "a"',
    ]
  `);
});
