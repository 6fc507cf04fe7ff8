import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import { asUser } from "./support/as-user.ts";
import type { Api } from "./support/api.ts";
import { configMapNamed } from "./support/objects.ts";
import { test } from "./support/parity-test.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const authorization = "/apis/authorization.k8s.io/v1";

/** Gives a user a role in a namespace and waits until it takes effect. */
async function grant(api: Api, namespace: string, user: string, rules: readonly object[]): Promise<void> {
  const countRules = async (): Promise<number> => {
    const { body } = await asUser(api, user)("POST", `${authorization}/selfsubjectrulesreviews`, { spec: { namespace } });
    return body.status.resourceRules.length + body.status.nonResourceRules.length;
  };
  const before = await countRules();
  await api.create(`${rbac}/namespaces/${namespace}/roles`, { metadata: { name: user }, rules });
  await api.create(`${rbac}/namespaces/${namespace}/rolebindings`, {
    metadata: { name: user },
    roleRef: { kind: "Role", name: user, apiGroup: "rbac.authorization.k8s.io" },
    subjects: [{ kind: "User", name: user, apiGroup: "rbac.authorization.k8s.io" }],
  });
  await eventually(async () => expect(await countRules()).toBe(before + rules.length));
}

const rule = (verbs: string, resources: string, more: object = {}): object => ({
  verbs: verbs.split(" "),
  apiGroups: [""],
  resources: resources.split(" "),
  ...more,
});

test("a user without roles may do nothing, and each refusal names the request", async ({ api, core, apps }) => {
  const jane = asUser(api, "jane");

  expect(await jane("GET", `${core}/pods`)).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "pods"},
      message: 'pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "NAMESPACE"',
      reason: "Forbidden",
    }
  `);
  expect(await jane("GET", `${core}/pods/a`)).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "pods", name: "a"},
      message: 'pods "a" is forbidden: User "jane" cannot get resource "pods" in API group "" in the namespace "NAMESPACE"',
      reason: "Forbidden",
    }
  `);
  expect(await jane("GET", `${core}/pods/a/status`)).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "pods", name: "a"},
      message: 'pods "a" is forbidden: User "jane" cannot get resource "pods/status" in API group "" in the namespace "NAMESPACE"',
      reason: "Forbidden",
    }
  `);
  expect(await jane("GET", "/api/v1/pods?watch=true")).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "pods"},
      message: 'pods is forbidden: User "jane" cannot watch resource "pods" in API group "" at the cluster scope',
      reason: "Forbidden",
    }
  `);
  expect(await jane("GET", `${core}/pods?fieldSelector=metadata.name%3Da`)).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "pods", name: "a"},
      message: 'pods "a" is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "NAMESPACE"',
      reason: "Forbidden",
    }
  `);
  expect(await jane("POST", `${core}/pods`, {})).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "pods"},
      message: 'pods is forbidden: User "jane" cannot create resource "pods" in API group "" in the namespace "NAMESPACE"',
      reason: "Forbidden",
    }
  `);
  expect(await jane("PUT", `${apps}/deployments/a`, {})).toMatchInlineSnapshot(`
    403 Failure {
      details: {group: "apps", kind: "deployments", name: "a"},
      message: 'deployments.apps "a" is forbidden: User "jane" cannot update resource "deployments" in API group "apps" in the namespace "NAMESPACE"',
      reason: "Forbidden",
    }
  `);
  expect(await jane("PATCH", `${apps}/deployments/a/scale`, {})).toMatchInlineSnapshot(`
    403 Failure {
      details: {group: "apps", kind: "deployments", name: "a"},
      message: 'deployments.apps "a" is forbidden: User "jane" cannot patch resource "deployments/scale" in API group "apps" in the namespace "NAMESPACE"',
      reason: "Forbidden",
    }
  `);
  expect(await jane("DELETE", `${core}/pods/a`)).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "pods", name: "a"},
      message: 'pods "a" is forbidden: User "jane" cannot delete resource "pods" in API group "" in the namespace "NAMESPACE"',
      reason: "Forbidden",
    }
  `);
  expect(await jane("DELETE", `${core}/pods`)).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "pods"},
      message: 'pods is forbidden: User "jane" cannot deletecollection resource "pods" in API group "" in the namespace "NAMESPACE"',
      reason: "Forbidden",
    }
  `);
  expect(await jane("GET", core)).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "namespaces", name: "NAMESPACE"},
      message: 'namespaces "NAMESPACE" is forbidden: User "jane" cannot get resource "namespaces" in API group "" in the namespace "NAMESPACE"',
      reason: "Forbidden",
    }
  `);
  expect(await jane("GET", "/api/v1/nodes/a")).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "nodes", name: "a"},
      message: 'nodes "a" is forbidden: User "jane" cannot get resource "nodes" in API group "" at the cluster scope',
      reason: "Forbidden",
    }
  `);
  expect(await jane("GET", `${core}/nothings`)).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "nothings"},
      message: 'nothings is forbidden: User "jane" cannot list resource "nothings" in API group "" in the namespace "NAMESPACE"',
      reason: "Forbidden",
    }
  `);
  expect(await jane("GET", "/metrics")).toMatchInlineSnapshot(
    `403 Failure {details: {}, message: 'forbidden: User "jane" cannot get path "/metrics"', reason: "Forbidden"}`,
  );
  expect(await jane("POST", "/nothing")).toMatchInlineSnapshot(
    `403 Failure {details: {}, message: 'forbidden: User "jane" cannot post path "/nothing"', reason: "Forbidden"}`,
  );
});

test("an anonymous user may only read health and version", async ({ api, core }) => {
  using anonymous = api.anonymous();

  for (const path of ["/healthz", "/livez", "/readyz", "/version"]) expect((await anonymous.get(path)).status, path).toBe(200);
  expect(await anonymous.get("/api")).toMatchInlineSnapshot(
    `403 Failure {details: {}, message: 'forbidden: User "system:anonymous" cannot get path "/api"', reason: "Forbidden"}`,
  );
  expect(await anonymous.get(`${core}/pods`)).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "pods"},
      message: 'pods is forbidden: User "system:anonymous" cannot list resource "pods" in API group "" in the namespace "NAMESPACE"',
      reason: "Forbidden",
    }
  `);
});

test("every authenticated user may read discovery", async ({ api }) => {
  const jane = asUser(api, "jane");

  for (const path of ["/api", "/apis", "/api/v1", "/apis/apps/v1", "/openapi/v3", "/version"])
    expect((await jane("GET", path)).status, path).toBe(200);
});

test("a role grants its verbs on its resources in its namespace", async ({ api, core, namespace }) => {
  await grant(api, namespace, "reader", [
    rule("get list", "configmaps"),
    rule("update", "*/status"),
    rule("get", "secrets", { resourceNames: ["mine"] }),
  ]);
  await api.create(`${core}/configmaps`, configMapNamed("a"));
  const reader = asUser(api, "reader");

  expect((await reader("GET", `${core}/configmaps/a`)).status).toBe(200);
  expect((await reader("GET", `${core}/configmaps`)).status).toBe(200);
  expect((await reader("GET", "/api/v1/configmaps")).status).toBe(403);
  expect((await reader("GET", `${core}/configmaps?watch=true`)).status).toBe(403);
  expect((await reader("DELETE", `${core}/configmaps/a`)).status).toBe(403);
  expect((await reader("GET", `${core}/secrets/mine`)).status).toBe(404);
  expect((await reader("GET", `${core}/secrets/other`)).status).toBe(403);
  expect((await reader("PUT", `${core}/pods/a/status`, {})).status).not.toBe(403);
  expect((await reader("PUT", `${core}/pods/a`, {})).status).toBe(403);
});

test("a binding to a missing role grants nothing, and the refusal says so", async ({ api, core, namespace }) => {
  await api.create(`${rbac}/namespaces/${namespace}/rolebindings`, {
    metadata: { name: "lost" },
    roleRef: { kind: "Role", name: "gone", apiGroup: "rbac.authorization.k8s.io" },
    subjects: [{ kind: "User", name: "lost" }],
  });
  const lost = asUser(api, "lost");

  await eventually(async () => expect((await lost("GET", `${core}/pods`)).body.message).toContain("RBAC"));
  expect(await lost("GET", `${core}/pods`)).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "pods"},
      message: 'pods is forbidden: User "lost" cannot list resource "pods" in API group "" in the namespace "NAMESPACE": RBAC: role.rbac.authorization.k8s.io "gone" not found',
      reason: "Forbidden",
    }
  `);
});

test("a service account has the rights bound to it, to its groups and to all users", async ({ api, core, namespace }) => {
  const { status } = await api.create(`${core}/serviceaccounts/default/token`, { spec: {} });
  using robot = api.withToken(status.token);
  await api.create(`${core}/configmaps`, configMapNamed("a"));

  expect(await robot.get(`${core}/configmaps/a`)).toMatchInlineSnapshot(`
    403 Failure {
      details: {kind: "configmaps", name: "a"},
      message: 'configmaps "a" is forbidden: User "system:serviceaccount:NAMESPACE:default" cannot get resource "configmaps" in API group "" in the namespace "NAMESPACE"',
      reason: "Forbidden",
    }
  `);
  await api.create(`${rbac}/namespaces/${namespace}/rolebindings`, {
    metadata: { name: "all-accounts" },
    roleRef: { kind: "ClusterRole", name: "view", apiGroup: "rbac.authorization.k8s.io" },
    subjects: [{ kind: "Group", name: `system:serviceaccounts:${namespace}` }],
  });
  await eventually(async () => expect((await robot.get(`${core}/configmaps/a`)).status).toBe(200));
  expect((await robot.get(`${core}/secrets`)).status).toBe(403);
  await api.create(`${rbac}/namespaces/${namespace}/rolebindings`, {
    metadata: { name: "one-account" },
    roleRef: { kind: "ClusterRole", name: "edit", apiGroup: "rbac.authorization.k8s.io" },
    subjects: [{ kind: "ServiceAccount", name: "default" }],
  });
  await eventually(async () => expect((await robot.get(`${core}/secrets`)).status).toBe(200));
});

test("access reviews report decisions and reasons", async ({ api, namespace }) => {
  await grant(api, namespace, "writer", [rule("*", "configmaps")]);
  const writer = asUser(api, "writer");
  const ask = async (attributes: object): Promise<unknown> =>
    (await writer("POST", `${authorization}/selfsubjectaccessreviews`, { spec: { resourceAttributes: attributes } })).body;

  expect(await ask({ namespace, verb: "get", resource: "configmaps" })).toMatchInlineSnapshot(`
    {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      metadata: {},
      spec: {resourceAttributes: {namespace: "NAMESPACE", resource: "configmaps", verb: "get"}},
      status: {allowed: true, reason: 'RBAC: allowed by RoleBinding "writer/NAMESPACE" of Role "writer" to User "writer"'},
    }
  `);
  expect(await ask({ namespace, verb: "get", resource: "pods" })).toMatchInlineSnapshot(`
    {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      metadata: {},
      spec: {resourceAttributes: {namespace: "NAMESPACE", resource: "pods", verb: "get"}},
      status: {allowed: false},
    }
  `);
  expect(
    await writer("POST", `${authorization}/selfsubjectaccessreviews`, {
      spec: { nonResourceAttributes: { path: "/apis", verb: "get" } },
    }),
  ).toMatchInlineSnapshot(`
    201 {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      metadata: {},
      spec: {nonResourceAttributes: {path: "/apis", verb: "get"}},
      status: {
        allowed: true,
        reason: 'RBAC: allowed by ClusterRoleBinding "system:discovery" of ClusterRole "system:discovery" to Group "system:authenticated"',
      },
    }
  `);
  expect(
    await api.post(`${authorization}/subjectaccessreviews`, {
      spec: { user: "writer", groups: ["g"], resourceAttributes: { namespace, verb: "delete", resource: "configmaps", name: "a" } },
    }),
  ).toMatchInlineSnapshot(`
    201 {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SubjectAccessReview",
      metadata: {},
      spec: {
        groups: ["g"],
        resourceAttributes: {name: "a", namespace: "NAMESPACE", resource: "configmaps", verb: "delete"},
        user: "writer",
      },
      status: {allowed: true, reason: 'RBAC: allowed by RoleBinding "writer/NAMESPACE" of Role "writer" to User "writer"'},
    }
  `);
  expect(
    await api.post(`${authorization}/namespaces/${namespace}/localsubjectaccessreviews`, {
      metadata: { namespace },
      spec: { user: "nobody", resourceAttributes: { namespace, verb: "delete", resource: "configmaps" } },
    }),
  ).toMatchInlineSnapshot(`
    201 {
      apiVersion: "authorization.k8s.io/v1",
      kind: "LocalSubjectAccessReview",
      metadata: {namespace: "NAMESPACE"},
      spec: {resourceAttributes: {namespace: "NAMESPACE", resource: "configmaps", verb: "delete"}, user: "nobody"},
      status: {allowed: false},
    }
  `);
});

test("invalid access reviews are refused", async ({ api, namespace }) => {
  const post = async (review: string, spec: object, metadata: object = {}): Promise<unknown> =>
    await api.post(`${authorization}/${review}`, { metadata, spec });

  expect(await post("subjectaccessreviews", {})).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "spec.resourceAttributes",
            message: "Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified",
            reason: "FieldValueInvalid",
          },
          {
            field: "spec.user",
            message: 'Invalid value: "": at least one of user or group must be specified',
            reason: "FieldValueInvalid",
          },
        ],
        group: "authorization.k8s.io",
      },
      message: '.authorization.k8s.io "" is invalid: [spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified, spec.user: Invalid value: "": at least one of user or group must be specified]',
      reason: "Invalid",
    }
  `);
  expect(await post("subjectaccessreviews", { user: "a", resourceAttributes: {}, nonResourceAttributes: {} })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "spec.nonResourceAttributes",
            message: 'Invalid value: {"Path":"","Verb":""}: cannot be specified in combination with resourceAttributes',
            reason: "FieldValueInvalid",
          },
        ],
        group: "authorization.k8s.io",
      },
      message: '.authorization.k8s.io "" is invalid: spec.nonResourceAttributes: Invalid value: {"Path":"","Verb":""}: cannot be specified in combination with resourceAttributes',
      reason: "Invalid",
    }
  `);
  expect(await post("selfsubjectaccessreviews", {})).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "spec.resourceAttributes",
            message: "Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified",
            reason: "FieldValueInvalid",
          },
        ],
        group: "authorization.k8s.io",
      },
      message: '.authorization.k8s.io "" is invalid: spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified',
      reason: "Invalid",
    }
  `);
  expect(await post("selfsubjectrulesreviews", {})).toMatchInlineSnapshot(
    `400 Failure {message: "no namespace on request", reason: "BadRequest"}`,
  );
  expect(
    await post(
      `namespaces/${namespace}/localsubjectaccessreviews`,
      { user: "a", resourceAttributes: { namespace: "other" } },
      { namespace },
    ),
  ).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "spec.resourceAttributes.namespace",
            message: 'Invalid value: "other": must match metadata.namespace',
            reason: "FieldValueInvalid",
          },
        ],
        group: "authorization.k8s.io",
      },
      message: '.authorization.k8s.io "" is invalid: spec.resourceAttributes.namespace: Invalid value: "other": must match metadata.namespace',
      reason: "Invalid",
    }
  `);
});

test("every user can list his own rules", async ({ api, namespace }) => {
  await grant(api, namespace, "lister", [rule("get", "configmaps", { resourceNames: ["a"] })]);
  const { body } = await asUser(api, "lister")("POST", `${authorization}/selfsubjectrulesreviews`, { spec: { namespace } });
  const { resourceRules, nonResourceRules, ...rest } = body.status;
  // The real server lists cluster role bindings in no particular order.
  const sorted = (rules: readonly object[]): readonly object[] =>
    rules.toSorted((a, b) => (JSON.stringify(Object.entries(a).toSorted()) < JSON.stringify(Object.entries(b).toSorted()) ? -1 : 1));

  expect({ ...body, status: rest }).toMatchInlineSnapshot(
    `{apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectRulesReview", metadata: {}, spec: {}, status: {incomplete: false}}`,
  );
  expect(sorted(resourceRules)).toMatchInlineSnapshot(`
    [
      {apiGroups: [""], resourceNames: ["a"], resources: ["configmaps"], verbs: ["get"]},
      {apiGroups: ["authentication.k8s.io"], resources: ["selfsubjectreviews"], verbs: ["create"]},
      {apiGroups: ["authorization.k8s.io"], resources: ["selfsubjectaccessreviews", "selfsubjectrulesreviews"], verbs: ["create"]},
    ]
  `);
  expect(sorted(nonResourceRules)).toMatchInlineSnapshot(`
    [
      {
        nonResourceURLs: ["/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", "/readyz", "/version", "/version/"],
        verbs: ["get"],
      },
      {nonResourceURLs: ["/healthz", "/livez", "/readyz", "/version", "/version/"], verbs: ["get"]},
    ]
  `);
});

test("a node's list of rules is incomplete", async ({ api, namespace }) => {
  const { body } = await asUser(api, "system:node:a", "system:nodes")("POST", `${authorization}/selfsubjectrulesreviews`, {
    spec: { namespace },
  });
  const { resourceRules: _resources, nonResourceRules: _urls, ...rest } = body.status;

  expect(rest).toMatchInlineSnapshot(`{evaluationError: "node authorizer does not support user rule resolution", incomplete: true}`);
});

test("every user can query his own identity", async ({ api }) => {
  const self = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

  expect(await asUser(api, "jane", "developers")("POST", self, {})).toMatchInlineSnapshot(`
    201 {
      apiVersion: "authentication.k8s.io/v1",
      kind: "SelfSubjectReview",
      metadata: {creationTimestamp: "TIME"},
      status: {userInfo: {groups: ["developers", "system:authenticated"], username: "jane"}},
    }
  `);
  expect(await asUser(api, "system:serviceaccount:a:b")("POST", self, {})).toMatchInlineSnapshot(`
    201 {
      apiVersion: "authentication.k8s.io/v1",
      kind: "SelfSubjectReview",
      metadata: {creationTimestamp: "TIME"},
      status: {
        userInfo: {
          groups: ["system:serviceaccounts", "system:serviceaccounts:a", "system:authenticated"],
          username: "system:serviceaccount:a:b",
        },
      },
    }
  `);
});

test("only users with the right to impersonate can do so", async ({ api, core, namespace }) => {
  await grant(api, namespace, "boss", [rule("impersonate", "serviceaccounts", { resourceNames: ["default"] }), rule("get", "pods")]);
  const { status } = await api.create(`${core}/serviceaccounts/default/token`, { spec: {} });
  using robot = api.withToken(status.token);
  const self = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
  const as = async (headers: Record<string, string>): Promise<unknown> => await robot.request("POST", self, { body: {}, headers });

  expect(await as({ "impersonate-user": "jane" })).toMatchInlineSnapshot(`
    403 Failure {
      details: {group: "authentication.k8s.io", kind: "selfsubjectreviews"},
      message: 'selfsubjectreviews.authentication.k8s.io is forbidden: User "system:serviceaccount:NAMESPACE:default" cannot impersonate-on:user-info:create resource "selfsubjectreviews" in API group "authentication.k8s.io" at the cluster scope',
      reason: "Forbidden",
    }
  `);
  expect(await as({ "impersonate-group": "developers" })).toMatchInlineSnapshot(`
    400 Failure {
      message: 'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"developers"}, Extra:map[string][]string(nil)} without impersonating a user name',
      reason: "BadRequest",
    }
  `);
  expect(await as({ "impersonate-user": `system:serviceaccount:${namespace}:default` })).toMatchInlineSnapshot(`
    403 Failure {
      details: {group: "authentication.k8s.io", kind: "selfsubjectreviews"},
      message: 'selfsubjectreviews.authentication.k8s.io is forbidden: User "system:serviceaccount:NAMESPACE:default" cannot impersonate-on:serviceaccount:create resource "selfsubjectreviews" in API group "authentication.k8s.io" at the cluster scope',
      reason: "Forbidden",
    }
  `);
  expect(
    await api.request("POST", self, {
      body: {},
      headers: { "impersonate-user": "jane", "impersonate-uid": "7", "impersonate-extra-scopes": "all" },
    }),
  ).toMatchInlineSnapshot(`
    201 {
      apiVersion: "authentication.k8s.io/v1",
      kind: "SelfSubjectReview",
      metadata: {creationTimestamp: "TIME"},
      status: {userInfo: {extra: {scopes: ["all"]}, groups: ["system:authenticated"], uid: "7", username: "jane"}},
    }
  `);
  expect(await api.request("POST", self, { body: {}, headers: { "impersonate-user": "system:anonymous" } })).toMatchInlineSnapshot(`
    403 Failure {
      details: {group: "authentication.k8s.io", kind: "selfsubjectreviews"},
      message: 'selfsubjectreviews.authentication.k8s.io is forbidden: User "system:anonymous" cannot create resource "selfsubjectreviews" in API group "authentication.k8s.io" at the cluster scope',
      reason: "Forbidden",
    }
  `);
});
