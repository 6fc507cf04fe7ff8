import { notFound } from "../errors/api-status-error.ts";
import type { Cluster } from "../rest/cluster.ts";
import { Disposables } from "../resources/disposables.ts";
import type { UserInfo } from "../http/api-request.ts";
import type { ApiObject, Kind } from "../kinds/kind.ts";
import type { PolicyRule, RoleRef, Subject } from "../kinds/rbac/rbac-fields.ts";
import { clusterRoleBindingKind, roleBindingKind } from "../kinds/rbac/role-binding.ts";
import { clusterRoleKind, roleKind } from "../kinds/rbac/role.ts";

/** A rule somebody has, and which binding gives it. */
export interface GrantedRule {
  readonly rule: PolicyRule;
  /** Such as `ClusterRoleBinding "a" of ClusterRole "b" to User "c"`. */
  readonly source: string;
}

/** What bindings give somebody. */
export interface Grants {
  readonly rules: readonly GrantedRule[];
  /** Roles that are bound and missing, in the API server's words. */
  readonly problems: readonly string[];
}

/** The parts of a cluster that roles are found in. */
export type RoleCluster = Pick<Cluster, "get" | "list" | "watch">;

/**
 * Finds the rules that roles and bindings give to users.
 *
 * Source: Kubernetes v1.36.3 pkg/registry/rbac/validation/rule.go.
 */
export class RoleRules implements Disposable {
  readonly #cluster: RoleCluster;
  readonly #resources = new Disposables();
  /** Every request asks for the bindings, and they change seldom. */
  readonly #bindings = new Map<string, readonly Readonly<ApiObject>[]>();

  constructor(cluster: RoleCluster) {
    this.#cluster = cluster;
    for (const kind of [roleBindingKind, clusterRoleBindingKind])
      this.#resources.use(cluster.watch(kind, ({ object }) => void this.#bindings.delete(object.metadata.namespace ?? "")));
  }

  /** What a user has in a namespace, and everywhere; `""`: only everywhere. */
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

  /** The rules of the role that a binding in a namespace refers to; `undefined` if there is none. */
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

/** The kind of role a binding refers to. */
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
