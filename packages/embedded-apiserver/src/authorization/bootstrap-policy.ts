import type { Cluster } from "../rest/cluster.ts";
import { rbacGroup } from "../kinds/rbac/rbac-fields.ts";
import { clusterRoleBindingKind, roleBindingKind } from "../kinds/rbac/role-binding.ts";
import { clusterRoleKind, roleKind } from "../kinds/rbac/role.ts";
import { bootstrapBindings, bootstrapClusterRoles, type BootstrapRole } from "./bootstrap-roles.ts";

const labels = { "kubernetes.io/bootstrapping": "rbac-defaults" };
const annotations = { "rbac.authorization.kubernetes.io/autoupdate": "true" };
const aggregationLabel = (role: string): string => `${rbacGroup}/aggregate-to-${role}`;

/** Creates the default roles and bindings. The namespace `kube-system` must exist. */
export function createBootstrapPolicy(cluster: Cluster): void {
  for (const role of bootstrapClusterRoles) cluster.create(clusterRoleKind, clusterRole(role));
  for (const [name, kind, ...subjects] of bootstrapBindings) {
    cluster.create(clusterRoleBindingKind, {
      metadata: { name, labels, annotations },
      roleRef: { apiGroup: rbacGroup, kind: "ClusterRole", name },
      subjects: subjects.map((subject) => ({ apiGroup: rbacGroup, kind, name: subject })),
    });
  }
  const name = "extension-apiserver-authentication-reader";
  cluster.create(roleKind, {
    metadata: { name, namespace: "kube-system", labels, annotations },
    rules: [
      {
        verbs: ["get", "list", "watch"],
        apiGroups: [""],
        resources: ["configmaps"],
        resourceNames: ["extension-apiserver-authentication"],
      },
    ],
  });
  cluster.create(roleBindingKind, {
    metadata: { name: `system::${name}`, namespace: "kube-system", labels, annotations },
    roleRef: { apiGroup: rbacGroup, kind: "Role", name },
    subjects: ["system:kube-controller-manager", "system:kube-scheduler"].map((user) => ({
      apiGroup: rbacGroup,
      kind: "User",
      name: user,
    })),
  });
}

function clusterRole({ name, rules, aggregatesTo, isAggregate }: BootstrapRole): object {
  return {
    metadata: { name, annotations, labels: aggregatesTo === undefined ? labels : { ...labels, [aggregationLabel(aggregatesTo)]: "true" } },
    ...(isAggregate === true ? { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [aggregationLabel(name)]: "true" } }] } } : {}),
    rules: isAggregate === true ? null : rules,
  };
}
