import type { Kind } from "../kind.ts";
import { pathSegmentProblems } from "../validation/names.ts";
import { rbacGroup } from "./rbac-fields.ts";
import { clusterRoleErrors, roleErrors } from "./validate-rbac.ts";

/** Source: Kubernetes v1.36.3 pkg/registry/rbac/role/strategy.go. */
export const roleKind: Kind = {
  group: rbacGroup,
  version: "v1",
  kind: "Role",
  plural: "roles",
  singular: "role",
  namespaced: true,
  schema: "io.k8s.api.rbac.v1.Role",
  nameProblems: pathSegmentProblems,
  validate: roleErrors,
};

/** Source: Kubernetes v1.36.3 pkg/registry/rbac/clusterrole/strategy.go. */
export const clusterRoleKind: Kind = {
  group: rbacGroup,
  version: "v1",
  kind: "ClusterRole",
  plural: "clusterroles",
  singular: "clusterrole",
  namespaced: false,
  schema: "io.k8s.api.rbac.v1.ClusterRole",
  nameProblems: pathSegmentProblems,
  validate: clusterRoleErrors,
};
