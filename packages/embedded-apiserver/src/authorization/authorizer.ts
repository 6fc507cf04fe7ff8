import { nodeRules } from "../bootstrap/bootstrap-objects.ts";
import { Disposables } from "../resources/disposables.ts";
import type { UserInfo } from "../authentication/user-info.ts";
import type { PolicyRule } from "../kinds/rbac/rbac-fields.ts";
import type { RestContext } from "../rest/rest-context.ts";
import type { Access } from "./access-request.ts";
import { createNodeAuthorizer } from "./node-authorizer.ts";
import { nodeNameOf } from "./node-identity.ts";
import { ruleAllows } from "./policy-rules.ts";
import { RoleRules } from "./rbac.ts";

/** Authorization mode: `RBAC` checks roles and bindings; `AlwaysAllow` allows everything. */
export type AuthorizationMode = "RBAC" | "AlwaysAllow";

/** Result of an authorization. */
interface Decision {
  readonly isAllowed: boolean;
  /** Explanation; may be empty. */
  readonly reason: string;
}

/** Permissions of a user in a namespace, as far as they can be listed. */
interface KnownRules {
  readonly rules: readonly PolicyRule[];
  /** Reason why the list is incomplete; absent if it is complete. */
  readonly incompleteBecause?: string;
}

/** Decides which requests a user may make. */
export interface Authorizer extends Disposable {
  readonly mode: AuthorizationMode;
  authorize(user: UserInfo, access: Access): Decision;
  /** Lists a user's permissions in a namespace. */
  rulesFor(user: UserInfo, namespace: string): KnownRules;
  /** Roles and bindings, for checks that compare rules. */
  readonly roles: RoleRules;
}

const superusers = "system:masters";

/** Whether a user may do everything. */
export function isSuperuser({ groups }: UserInfo): boolean {
  return groups.includes(superusers);
}

/**
 * Creates the authorizer of a server: `system:masters` first, then nodes, then roles and bindings, like `--authorization-mode=Node,RBAC`.
 */
export function createAuthorizer(context: RestContext, mode: AuthorizationMode): Authorizer {
  const resources = new Disposables();
  const roles = resources.use(new RoleRules(context.cluster));
  const nodes = resources.use(createNodeAuthorizer(context, nodeRules()));
  const dispose = (): void => resources.dispose();
  if (mode === "AlwaysAllow")
    return {
      mode,
      roles,
      authorize: () => ({ isAllowed: true, reason: "" }),
      rulesFor: () => ({ rules: everything }),
      [Symbol.dispose]: dispose,
    };
  return {
    mode,
    roles,
    authorize(user, access) {
      if (isSuperuser(user)) return { isAllowed: true, reason: "" };
      const node = nodeNameOf(user);
      const opinion = node === undefined ? "" : nodes.decide(node, user.username, access);
      if (opinion === undefined) return { isAllowed: true, reason: "" };
      const { rules, problems } = roles.grantsOf(user, "resource" in access ? access.namespace : "");
      const granted = rules.find(({ rule }) => ruleAllows(rule, access));
      if (granted !== undefined) return { isAllowed: true, reason: `RBAC: allowed by ${granted.source}` };
      const missing = problems.length === 0 ? "" : `RBAC: ${aggregated(problems)}`;
      return { isAllowed: false, reason: [opinion, missing].filter((reason) => reason !== "").join("\n") };
    },
    rulesFor(user, namespace) {
      const rules = roles.grantsOf(user, namespace).rules.map(({ rule }) => rule);
      return nodeNameOf(user) === undefined
        ? { rules }
        : { rules, incompleteBecause: "node authorizer does not support user rule resolution" };
    },
    [Symbol.dispose]: dispose,
  };
}

const everything: readonly PolicyRule[] = [
  { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
  { verbs: ["*"], nonResourceURLs: ["*"] },
];

/** Joins errors as Go's aggregate error prints them. */
function aggregated(problems: readonly string[]): string {
  const distinct = [...new Set(problems)];
  return distinct.length === 1 ? (distinct[0] ?? "") : `[${distinct.join(", ")}]`;
}
