import type { ApiObject, Column, Kind } from "../kind.ts";
import { ageColumn, nameColumn } from "../columns/columns.ts";
import { pathSegmentProblems } from "../validation/names.ts";
import { rbacGroup, type RoleRef, type Subject } from "./rbac-fields.ts";
import { clusterRoleBindingErrors, roleBindingErrors } from "./validate-rbac.ts";

/** Source: Kubernetes v1.36.3 pkg/registry/rbac/rolebinding/strategy.go and pkg/apis/rbac/v1/defaults.go. */
export const roleBindingKind: Kind = {
  group: rbacGroup,
  version: "v1",
  kind: "RoleBinding",
  plural: "rolebindings",
  singular: "rolebinding",
  namespaced: true,
  schema: "io.k8s.api.rbac.v1.RoleBinding",
  nameProblems: pathSegmentProblems,
  applyDefaults: applyBindingDefaults,
  validate: roleBindingErrors,
  columns: bindingColumns("roleBinding"),
};

/** Source: Kubernetes v1.36.3 pkg/registry/rbac/clusterrolebinding/strategy.go. */
export const clusterRoleBindingKind: Kind = {
  group: rbacGroup,
  version: "v1",
  kind: "ClusterRoleBinding",
  plural: "clusterrolebindings",
  singular: "clusterrolebinding",
  namespaced: false,
  schema: "io.k8s.api.rbac.v1.ClusterRoleBinding",
  nameProblems: pathSegmentProblems,
  applyDefaults: applyBindingDefaults,
  validate: clusterRoleBindingErrors,
  columns: bindingColumns("clusterRoleBinding"),
};

function applyBindingDefaults(binding: ApiObject): void {
  const roleRef: RoleRef = binding["roleRef"];
  if (roleRef.apiGroup === "") roleRef.apiGroup = rbacGroup;
  for (const subject of subjectsOf(binding)) if (subject.kind === "User" || subject.kind === "Group") subject.apiGroup ??= rbacGroup;
}

function bindingColumns(kind: string): readonly Column[] {
  const subjects = (name: string, text: (subject: Subject) => string | undefined): Column => ({
    name,
    type: "string",
    description: `${name} in the ${kind}`,
    wide: true,
    cell: (binding) =>
      subjectsOf(binding)
        .map(text)
        .filter((one) => one !== undefined)
        .join(", "),
  });
  return [
    nameColumn,
    {
      name: "Role",
      type: "string",
      description:
        "RoleRef can reference a Role in the current namespace or a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error.",
      cell: (binding) => `${binding["roleRef"].kind}/${binding["roleRef"].name}`,
    },
    ageColumn,
    subjects("Users", (subject) => (subject.kind === "User" ? subject.name : undefined)),
    subjects("Groups", (subject) => (subject.kind === "Group" ? subject.name : undefined)),
    subjects("ServiceAccounts", ({ kind: subjectKind, name, namespace = "" }) =>
      subjectKind === "ServiceAccount" ? `${namespace}/${name}` : undefined,
    ),
  ];
}

function subjectsOf(binding: ApiObject): Subject[] {
  return binding["subjects"] ?? [];
}
