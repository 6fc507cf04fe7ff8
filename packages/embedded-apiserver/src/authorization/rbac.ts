import { notFound } from "../errors/api-status-error.ts";
import type { Cluster } from "../rest/cluster.ts";
import { Disposables } from "../resources/disposables.ts";
import type { UserInfo } from "../authentication/user-info.ts";
import type { ApiObject, Kind } from "../kinds/kind.ts";
import type { PolicyRule, RoleRef, Subject } from "../kinds/rbac/rbac-fields.ts";
import { clusterRoleBindingKind, roleBindingKind } from "../kinds/rbac/role-binding.ts";
import { clusterRoleKind, roleKind } from "../kinds/rbac/role.ts";

/** A rule that applies to a user, and the binding that grants it. */
interface GrantedRule {
  readonly rule: PolicyRule;
  /** Such as `ClusterRoleBinding "a" of ClusterRole "b" to User "c"`. */
  readonly source: string;
}

/** Rules that apply to a user. */
export interface Grants {
  readonly rules: readonly GrantedRule[];
  /** Messages about bindings whose role does not exist. */
  readonly problems: readonly string[];
}

/** Part of {@link Cluster} that is used to look up roles. */
export type RoleCluster = Pick<Cluster, "get" | "list" | "watch">;

/**
 * Looks up the rules that roles and bindings grant to users.
 *
 * Source: Kubernetes v1.36.3 pkg/registry/rbac/validation/rule.go.
 */
export class RoleRules implements Disposable {
  readonly #cluster: RoleCluster;
  readonly #resources = new Disposables();
  /** Bindings by namespace, cached because every request reads them and they rarely change. */
  readonly #bindings = new Map<string, readonly Readonly<ApiObject>[]>();

  constructor(cluster: RoleCluster) {
    this.#cluster = cluster;
    for (const kind of [roleBindingKind, clusterRoleBindingKind])
      this.#resources.use(cluster.watch(kind, ({ object }) => void this.#bindings.delete(object.metadata.namespace ?? "")));
  }

  /** Rules that apply to a user in a namespace and cluster-wide; only cluster-wide for `""`. */
  grantsOf(user: UserInfo, namespace: string): Grants {
    const rules: GrantedRule[] = [];
    const problems: string[] = [];
    for (const scope of namespace === "" ? [""] : ["", namespace]) {
      for (const binding of this.#bindingsIn(scope)) {
        const subjects: readonly Subject[] = binding["subjects"] ?? [];
        const subject = subjects.find((one) => appliesTo(one, user, scope));
        if (subject === undefined) continue;
        const bound = this.rulesOfRole(binding["roleRef"], scope);
        if (bound === undefined) problems.push(missingRole(binding["roleRef"]));
        const source = describeBinding(binding, subject, scope);
        for (const rule of bound ?? []) rules.push({ rule, source });
      }
    }
    return { rules, problems };
  }

  /** Rules of the role that a binding in a namespace references; `undefined` if the role does not exist. */
  rulesOfRole({ kind, name }: RoleRef, namespace: string): readonly PolicyRule[] | undefined {
    const role = kind === "Role" ? this.#cluster.get(roleKind, namespace, name) : this.#cluster.get(clusterRoleKind, undefined, name);
    return role === undefined ? undefined : (role["rules"] ?? []);
  }

  [Symbol.dispose](): void {
    this.#resources.dispose();
  }

  #bindingsIn(namespace: string): readonly Readonly<ApiObject>[] {
    let bindings = this.#bindings.get(namespace);
    if (bindings === undefined) {
      bindings = namespace === "" ? this.#cluster.list(clusterRoleBindingKind) : this.#cluster.list(roleBindingKind, namespace);
      this.#bindings.set(namespace, bindings);
    }
    return bindings;
  }
}

/** Kind of the role that a binding references. */
export function roleKindOf({ kind }: RoleRef): Kind {
  return kind === "Role" ? roleKind : clusterRoleKind;
}

function missingRole(roleRef: RoleRef): string {
  return notFound({ ...roleKindOf(roleRef), plural: roleKindOf(roleRef).singular }, roleRef.name).message;
}

function appliesTo(subject: Subject, { username, groups }: UserInfo, namespace: string): boolean {
  switch (subject.kind) {
    case "User":
      return username === subject.name;
    case "Group":
      return groups.includes(subject.name);
    case "ServiceAccount": {
      const own = subject.namespace ?? namespace;
      return own !== "" && username === `system:serviceaccount:${own}:${subject.name}`;
    }
    default:
      return false;
  }
}

function describeBinding(binding: Readonly<ApiObject>, subject: Subject, namespace: string): string {
  const { kind, name }: RoleRef = binding["roleRef"];
  const own = subject.kind === "ServiceAccount" ? `${subject.name}/${subject.namespace ?? namespace}` : subject.name;
  const given = `of ${kind} ${JSON.stringify(name)} to ${subject.kind} ${JSON.stringify(own)}`;
  return namespace === ""
    ? `ClusterRoleBinding ${JSON.stringify(binding.metadata.name)} ${given}`
    : `RoleBinding ${JSON.stringify(`${binding.metadata.name}/${namespace}`)} ${given}`;
}
