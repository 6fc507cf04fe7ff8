import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import type { Answer } from "./support/api.ts";
import { asUser } from "./support/as-user.ts";
import { test } from "./support/parity-test.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const group = "rbac.authorization.k8s.io";
const table = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };

/** Cells of a table's rows, without ages. */
function cells(answer: Answer): unknown {
  return answer.body.rows.map((row: { cells: unknown[] }) => row.cells);
}

test("roles and bindings are stored with their defaults", async ({ api, namespace }) => {
  expect(await api.post(`${rbac}/namespaces/${namespace}/roles`, { metadata: { name: "a:b" } })).toMatchInlineSnapshot(`
    201 {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "Role",
      metadata: {
        creationTimestamp: "TIME",
        name: "a:b",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
      rules: null,
    }
  `);
  expect(
    await api.post(`${rbac}/namespaces/${namespace}/roles`, {
      metadata: { name: "c" },
      rules: [{ verbs: ["get"], apiGroups: [""], resources: ["pods"] }],
    }),
  ).toMatchInlineSnapshot(`
    201 {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "Role",
      metadata: {
        creationTimestamp: "TIME",
        name: "c",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
      rules: [{apiGroups: [""], resources: ["pods"], verbs: ["get"]}],
    }
  `);
  expect(
    await api.post(`${rbac}/namespaces/${namespace}/rolebindings`, {
      metadata: { name: "d" },
      roleRef: { kind: "Role", name: "c" },
      subjects: [
        { kind: "User", name: "u" },
        { kind: "Group", name: "g" },
        { kind: "ServiceAccount", name: "s" },
      ],
    }),
  ).toMatchInlineSnapshot(`
    201 {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata: {
        creationTimestamp: "TIME",
        name: "d",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
      roleRef: {apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "c"},
      subjects: [
        {apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "u"},
        {apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "g"},
        {kind: "ServiceAccount", name: "s"},
      ],
    }
  `);
});

test("invalid roles and bindings are refused", async ({ api, namespace }) => {
  const role = async (rules: readonly object[], name = "a"): Promise<unknown> =>
    await api.post(`${rbac}/namespaces/${namespace}/roles`, { metadata: { name }, rules });
  const binding = async (body: object): Promise<unknown> =>
    await api.post(`${rbac}/namespaces/${namespace}/rolebindings`, { metadata: { name: "a" }, ...body });
  const roleRef = { kind: "Role", name: "c", apiGroup: group };

  expect(await role([{}])).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {field: "rules[0].verbs", message: "Required value: verbs must contain at least one value", reason: "FieldValueRequired"},
          {
            field: "rules[0].apiGroups",
            message: "Required value: resource rules must supply at least one api group",
            reason: "FieldValueRequired",
          },
          {
            field: "rules[0].resources",
            message: "Required value: resource rules must supply at least one resource",
            reason: "FieldValueRequired",
          },
        ],
        group: "rbac.authorization.k8s.io",
        kind: "Role",
        name: "a",
      },
      message: 'Role.rbac.authorization.k8s.io "a" is invalid: [rules[0].verbs: Required value: verbs must contain at least one value, rules[0].apiGroups: Required value: resource rules must supply at least one api group, rules[0].resources: Required value: resource rules must supply at least one resource]',
      reason: "Invalid",
    }
  `);
  expect(await role([{ verbs: ["get"], nonResourceURLs: ["/a"] }])).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "rules[0].nonResourceURLs",
            message: 'Invalid value: ["/a"]: namespaced rules cannot apply to non-resource URLs',
            reason: "FieldValueInvalid",
          },
        ],
        group: "rbac.authorization.k8s.io",
        kind: "Role",
        name: "a",
      },
      message: 'Role.rbac.authorization.k8s.io "a" is invalid: rules[0].nonResourceURLs: Invalid value: ["/a"]: namespaced rules cannot apply to non-resource URLs',
      reason: "Invalid",
    }
  `);
  expect(await role([{ verbs: ["get"], nonResourceURLs: ["/a"], resources: ["pods"] }])).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "rules[0].nonResourceURLs",
            message: 'Invalid value: ["/a"]: namespaced rules cannot apply to non-resource URLs',
            reason: "FieldValueInvalid",
          },
          {
            field: "rules[0].nonResourceURLs",
            message: 'Invalid value: ["/a"]: rules cannot apply to both regular resources and non-resource URLs',
            reason: "FieldValueInvalid",
          },
        ],
        group: "rbac.authorization.k8s.io",
        kind: "Role",
        name: "a",
      },
      message: 'Role.rbac.authorization.k8s.io "a" is invalid: [rules[0].nonResourceURLs: Invalid value: ["/a"]: namespaced rules cannot apply to non-resource URLs, rules[0].nonResourceURLs: Invalid value: ["/a"]: rules cannot apply to both regular resources and non-resource URLs]',
      reason: "Invalid",
    }
  `);
  expect(await role([], "a%b")).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [{field: "metadata.name", message: "Invalid value: \\"a%b\\": may not contain '%'", reason: "FieldValueInvalid"}],
        group: "rbac.authorization.k8s.io",
        kind: "Role",
        name: "a%b",
      },
      message: "Role.rbac.authorization.k8s.io \\"a%b\\" is invalid: metadata.name: Invalid value: \\"a%b\\": may not contain '%'",
      reason: "Invalid",
    }
  `);
  expect(await binding({})).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "roleRef.kind",
            message: 'Unsupported value: "": supported values: "Role", "ClusterRole"',
            reason: "FieldValueNotSupported",
          },
          {field: "roleRef.name", message: "Required value", reason: "FieldValueRequired"},
        ],
        group: "rbac.authorization.k8s.io",
        kind: "RoleBinding",
        name: "a",
      },
      message: 'RoleBinding.rbac.authorization.k8s.io "a" is invalid: [roleRef.kind: Unsupported value: "": supported values: "Role", "ClusterRole", roleRef.name: Required value]',
      reason: "Invalid",
    }
  `);
  expect(await binding({ roleRef: { kind: "Pod", name: "c", apiGroup: "v1" } })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "roleRef.apiGroup",
            message: 'Unsupported value: "v1": supported values: "rbac.authorization.k8s.io"',
            reason: "FieldValueNotSupported",
          },
          {
            field: "roleRef.kind",
            message: 'Unsupported value: "Pod": supported values: "Role", "ClusterRole"',
            reason: "FieldValueNotSupported",
          },
        ],
        group: "rbac.authorization.k8s.io",
        kind: "RoleBinding",
        name: "a",
      },
      message: 'RoleBinding.rbac.authorization.k8s.io "a" is invalid: [roleRef.apiGroup: Unsupported value: "v1": supported values: "rbac.authorization.k8s.io", roleRef.kind: Unsupported value: "Pod": supported values: "Role", "ClusterRole"]',
      reason: "Invalid",
    }
  `);
  expect(
    await binding({
      roleRef,
      subjects: [{}, { kind: "User" }, { kind: "Group", name: "g", apiGroup: "x" }, { kind: "ServiceAccount", name: "A" }],
    }),
  ).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {field: "subjects[0].name", message: "Required value", reason: "FieldValueRequired"},
          {
            field: "subjects[0].kind",
            message: 'Unsupported value: "": supported values: "ServiceAccount", "User", "Group"',
            reason: "FieldValueNotSupported",
          },
          {field: "subjects[1].name", message: "Required value", reason: "FieldValueRequired"},
          {
            field: "subjects[2].apiGroup",
            message: 'Unsupported value: "x": supported values: "rbac.authorization.k8s.io"',
            reason: "FieldValueNotSupported",
          },
          {
            field: "subjects[3].name",
            message: "Invalid value: \\"A\\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
            reason: "FieldValueInvalid",
          },
        ],
        group: "rbac.authorization.k8s.io",
        kind: "RoleBinding",
        name: "a",
      },
      message: "RoleBinding.rbac.authorization.k8s.io \\"a\\" is invalid: [subjects[0].name: Required value, subjects[0].kind: Unsupported value: \\"\\": supported values: \\"ServiceAccount\\", \\"User\\", \\"Group\\", subjects[1].name: Required value, subjects[2].apiGroup: Unsupported value: \\"x\\": supported values: \\"rbac.authorization.k8s.io\\", subjects[3].name: Invalid value: \\"A\\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')]",
      reason: "Invalid",
    }
  `);
  expect(
    await api.post(`${rbac}/clusterrolebindings`, {
      metadata: { name: namespace },
      roleRef,
      subjects: [{ kind: "ServiceAccount", name: "a" }],
    }),
  ).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "roleRef.kind",
            message: 'Unsupported value: "Role": supported values: "ClusterRole"',
            reason: "FieldValueNotSupported",
          },
          {field: "subjects[0].namespace", message: "Required value", reason: "FieldValueRequired"},
        ],
        group: "rbac.authorization.k8s.io",
        kind: "ClusterRoleBinding",
        name: "NAMESPACE",
      },
      message: 'ClusterRoleBinding.rbac.authorization.k8s.io "NAMESPACE" is invalid: [roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole", subjects[0].namespace: Required value]',
      reason: "Invalid",
    }
  `);
  expect(await api.post(`${rbac}/clusterroles`, { metadata: { name: namespace }, aggregationRule: {} })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "aggregationRule.clusterRoleSelectors",
            message: "Required value: at least one clusterRoleSelector required if aggregationRule is non-nil",
            reason: "FieldValueRequired",
          },
        ],
        group: "rbac.authorization.k8s.io",
        kind: "ClusterRole",
        name: "NAMESPACE",
      },
      message: 'ClusterRole.rbac.authorization.k8s.io "NAMESPACE" is invalid: aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil',
      reason: "Invalid",
    }
  `);
});

test("the role of a binding cannot be changed", async ({ api, namespace }) => {
  const path = `${rbac}/namespaces/${namespace}/rolebindings`;
  const binding = await api.create(path, { metadata: { name: "a" }, roleRef: { kind: "Role", name: "c" } });

  expect(await api.put(`${path}/a`, { ...binding, roleRef: { ...binding.roleRef, name: "d" } })).toMatchInlineSnapshot(`
    422 Failure {
      details: {
        causes: [
          {
            field: "roleRef",
            message: 'Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"d"}: cannot change roleRef',
            reason: "FieldValueInvalid",
          },
        ],
        group: "rbac.authorization.k8s.io",
        kind: "RoleBinding",
        name: "a",
      },
      message: 'RoleBinding.rbac.authorization.k8s.io "a" is invalid: roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"d"}: cannot change roleRef',
      reason: "Invalid",
    }
  `);
  expect((await api.put(`${path}/a`, { ...binding, subjects: [{ kind: "User", name: "u" }] })).status).toBe(200);
});

test("a PUT creates a missing role", async ({ api, namespace }) => {
  const role = { metadata: { name: "a" }, rules: [] };

  expect((await api.put(`${rbac}/namespaces/${namespace}/roles/a`, role)).status).toBe(201);
});

test("roles and bindings are shown as tables", async ({ api, namespace }) => {
  await api.create(`${rbac}/namespaces/${namespace}/roles`, { metadata: { name: "a" } });
  await api.create(`${rbac}/namespaces/${namespace}/rolebindings`, {
    metadata: { name: "b" },
    roleRef: { kind: "ClusterRole", name: "view" },
    subjects: [
      { kind: "User", name: "u" },
      { kind: "User", name: "v" },
      { kind: "Group", name: "g" },
      { kind: "ServiceAccount", name: "s", namespace: "n" },
    ],
  });
  const roles = await api.get(`${rbac}/namespaces/${namespace}/roles`, table);
  const bindings = await api.get(`${rbac}/namespaces/${namespace}/rolebindings`, table);

  expect(roles.body.columnDefinitions.map(({ name, type }: { name: string; type: string }) => `${name} ${type}`)).toMatchInlineSnapshot(
    `["Name string", "Created At date"]`,
  );
  expect(cells(roles)).toMatchInlineSnapshot(`[["a", "TIME"]]`);
  expect(
    bindings.body.columnDefinitions.map(({ name, type, priority }: { name: string; type: string; priority: number }) => [
      name,
      type,
      priority,
    ]),
  ).toMatchInlineSnapshot(`
    [
      ["Name", "string", 0],
      ["Role", "string", 0],
      ["Age", "string", 0],
      ["Users", "string", 1],
      ["Groups", "string", 1],
      ["ServiceAccounts", "string", 1],
    ]
  `);
  expect((cells(bindings) as unknown[][]).map((row) => row.filter((_, index) => index !== 2))).toMatchInlineSnapshot(
    `[["b", "ClusterRole/view", "u, v", "g", "n/s"]]`,
  );
});

test("a cluster has its usual roles and bindings", async ({ api }) => {
  const roleNames = ["cluster-admin", "system:aggregate-to-edit", "system:aggregate-to-view", "system:auth-delegator", "system:basic-user"];
  const moreNames = ["system:discovery", "system:kubelet-api-admin", "system:node", "system:node-proxier", "system:public-info-viewer"];
  const bindingNames = ["cluster-admin", "system:basic-user", "system:discovery", "system:node", "system:node-proxier"];
  const bodiesOf = async (path: string, names: readonly string[]): Promise<unknown> =>
    await Promise.all(names.map(async (name) => (await api.get(`${path}/${name}`)).body));
  const path = `${rbac}/namespaces/kube-system`;

  expect(await bodiesOf(`${rbac}/clusterroles`, [...roleNames, ...moreNames])).toMatchSnapshot("cluster roles");
  expect(await bodiesOf(`${rbac}/clusterrolebindings`, [...bindingNames, "system:public-info-viewer"])).toMatchSnapshot("cluster bindings");
  expect(await bodiesOf(`${path}/roles`, ["extension-apiserver-authentication-reader"])).toMatchSnapshot("roles");
  expect(await bodiesOf(`${path}/rolebindings`, ["system::extension-apiserver-authentication-reader"])).toMatchSnapshot("bindings");
});

test("the roles admin, edit and view are aggregated from others", async ({ api, namespace }) => {
  const rulesOf = async (name: string): Promise<unknown> => (await api.get(`${rbac}/clusterroles/${name}`)).body.rules;
  await eventually(async () => expect((await rulesOf("admin")) as unknown[]).toHaveLength(29));
  expect(await Promise.all(["admin", "edit", "view"].map(rulesOf))).toMatchSnapshot("aggregated rules");

  const own = [{ verbs: ["get"], apiGroups: ["example.com"], resources: [namespace] }];
  await api.create(`${rbac}/clusterroles`, { metadata: { name: `${namespace}-part`, labels: { part: namespace } }, rules: own });
  await api.create(`${rbac}/clusterroles`, {
    metadata: { name: namespace },
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { part: namespace } }] },
    rules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }],
  });
  await eventually(async () => expect(await rulesOf(namespace)).toEqual(own));
  await api.delete(`${rbac}/clusterroles/${namespace}-part`);
  await eventually(async () => expect(await rulesOf(namespace)).toBeNull());
  await api.delete(`${rbac}/clusterroles/${namespace}`);
});

test("users cannot grant more rights than they have, unless they may escalate or bind", async ({ api, namespace }) => {
  const all = ["get", "create", "update", "patch"];
  await api.create(`${rbac}/namespaces/${namespace}/roles`, {
    metadata: { name: "granter" },
    rules: [
      { verbs: all, apiGroups: [group], resources: ["roles", "rolebindings"] },
      { verbs: ["get"], apiGroups: [""], resources: ["pods", "secrets"] },
      { verbs: ["bind"], apiGroups: [group], resources: ["clusterroles"], resourceNames: ["view"] },
    ],
  });
  await api.create(`${rbac}/namespaces/${namespace}/rolebindings`, {
    metadata: { name: "granter" },
    roleRef: { kind: "Role", name: "granter" },
    subjects: [{ kind: "User", name: "granter" }],
  });
  const granter = asUser(api, "granter", "staff");
  const roles = `${rbac}/namespaces/${namespace}/roles`;
  const bindings = `${rbac}/namespaces/${namespace}/rolebindings`;
  await eventually(async () => expect((await granter("GET", `${roles}/granter`)).status).toBe(200));
  const role = (name: string, ...rules: readonly object[]): object => ({ metadata: { name }, rules });
  const binding = (name: string, kind: string, roleName: string): object => ({ metadata: { name }, roleRef: { kind, name: roleName } });

  expect((await granter("POST", roles, role("a", { verbs: ["get"], apiGroups: [""], resources: ["pods"] }))).status).toBe(201);
  expect(
    await granter(
      "POST",
      roles,
      role(
        "b",
        { verbs: ["get", "list", "watch"], apiGroups: ["", "apps"], resources: ["pods"] },
        { verbs: ["get"], apiGroups: [""], resources: ["nodes"], resourceNames: ["n"] },
      ),
    ),
  ).toMatchInlineSnapshot(`
    403 Failure {
      details: {group: "rbac.authorization.k8s.io", kind: "roles", name: "b"},
      message: "roles.rbac.authorization.k8s.io \\"b\\" is forbidden: user \\"granter\\" (groups=[\\"staff\\" \\"system:authenticated\\"]) is attempting to grant RBAC permissions not currently held:\\n{APIGroups:[\\"\\"], Resources:[\\"nodes\\"], ResourceNames:[\\"n\\"], Verbs:[\\"get\\"]}\\n{APIGroups:[\\"\\"], Resources:[\\"pods\\"], Verbs:[\\"list\\" \\"watch\\"]}\\n{APIGroups:[\\"apps\\"], Resources:[\\"pods\\"], Verbs:[\\"get\\" \\"list\\" \\"watch\\"]}",
      reason: "Forbidden",
    }
  `);
  expect(await granter("PUT", `${roles}/a`, role("a", { verbs: ["delete"], apiGroups: [""], resources: ["pods"] }))).toMatchInlineSnapshot(`
    403 Failure {
      details: {group: "rbac.authorization.k8s.io", kind: "roles", name: "a"},
      message: "roles.rbac.authorization.k8s.io \\"a\\" is forbidden: user \\"granter\\" (groups=[\\"staff\\" \\"system:authenticated\\"]) is attempting to grant RBAC permissions not currently held:\\n{APIGroups:[\\"\\"], Resources:[\\"pods\\"], Verbs:[\\"delete\\"]}",
      reason: "Forbidden",
    }
  `);
  expect((await granter("POST", bindings, binding("a", "Role", "a"))).status).toBe(201);
  expect((await granter("POST", bindings, binding("v", "ClusterRole", "view"))).status).toBe(201);
  expect(await granter("POST", bindings, binding("c", "ClusterRole", "cluster-admin"))).toMatchInlineSnapshot(`
    403 Failure {
      details: {group: "rbac.authorization.k8s.io", kind: "rolebindings", name: "c"},
      message: "rolebindings.rbac.authorization.k8s.io \\"c\\" is forbidden: user \\"granter\\" (groups=[\\"staff\\" \\"system:authenticated\\"]) is attempting to grant RBAC permissions not currently held:\\n{APIGroups:[\\"*\\"], Resources:[\\"*\\"], Verbs:[\\"*\\"]}\\n{NonResourceURLs:[\\"*\\"], Verbs:[\\"*\\"]}",
      reason: "Forbidden",
    }
  `);
  expect(await granter("POST", bindings, binding("d", "Role", "none"))).toMatchInlineSnapshot(`
    404 Failure {
      details: {group: "rbac.authorization.k8s.io", kind: "rolebindings", name: "none"},
      message: 'rolebindings.rbac.authorization.k8s.io "none" not found',
      reason: "NotFound",
    }
  `);
});
