import { forbidden, notFound } from "../../errors/api-status-error.ts";
import type { Access } from "../../authorization/access-request.ts";
import { type Authorizer, isSuperuser } from "../../authorization/authorizer.ts";
import { describeRules, quotedList, uncoveredRules } from "../../authorization/policy-rules.ts";
import { roleKindOf } from "../../authorization/rbac.ts";
import type { UserInfo } from "../../authentication/user-info.ts";
import { equalJson } from "../../json/json-value.ts";
import type { ApiObject, Kind } from "../../kinds/kind.ts";
import { rbacGroup, type PolicyRule, type RoleRef } from "../../kinds/rbac/rbac-fields.ts";

/** The user who writes a role or binding. */
export interface RoleWriter {
  readonly authorizer: Authorizer;
  readonly user: UserInfo;
}

const everything: readonly PolicyRule[] = [
  { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
  { verbs: ["*"], nonResourceURLs: ["*"] },
];

/**
 * Prevents users from granting permissions that they do not have.
 *
 * Source: Kubernetes v1.36.3 pkg/registry/rbac/{role,clusterrole,rolebinding,clusterrolebinding}/policybased/storage.go.
 *
 * @throws ApiStatusError 403; 404 if a binding's role does not exist
 */
export function admitRoleWrite(writer: RoleWriter, kind: Kind, object: Readonly<ApiObject>, old: Readonly<ApiObject> | undefined): void {
  const { authorizer, user } = writer;
  if (authorizer.mode === "AlwaysAllow" || isSuperuser(user)) return;
  const namespace = kind.namespaced ? (object.metadata.namespace ?? "") : "";
  const name = object.metadata.name ?? "";
  if (old !== undefined && isOnlyCollected(object, old)) return;
  if (kind.plural.endsWith("bindings")) admitBinding(writer, kind, { roleRef: object["roleRef"], namespace, name });
  else admitRole(writer, kind, { object, old, namespace, name });
}

/** Whether the update changes only owner references and finalizers, as garbage collection does. */
function isOnlyCollected(object: Readonly<ApiObject>, old: Readonly<ApiObject>): boolean {
  const rest = ({ metadata: { ownerReferences: _owners, finalizers: _finalizers, ...metadata }, ...fields }: ApiObject): object => ({
    ...fields,
    metadata,
  });
  return equalJson(rest(object), rest(old));
}

interface Place {
  readonly namespace: string;
  readonly name: string;
}

function admitRole(
  writer: RoleWriter,
  kind: Kind,
  { object, old, namespace, name }: Place & { readonly object: Readonly<ApiObject>; readonly old: Readonly<ApiObject> | undefined },
): void {
  // The path of a create request has no name.
  if (may(writer, "escalate", kind, { namespace, name: old === undefined ? "" : name })) return;
  confirmHeld(writer, kind, { rules: object["rules"] ?? [], namespace, name });
  const aggregates = [object, old].some((role) => (role?.["aggregationRule"]?.clusterRoleSelectors?.length ?? 0) > 0);
  if (aggregates && missing(writer, everything, namespace).length > 0)
    throw forbidden(kind, name, "must have cluster-admin privileges to use the aggregationRule");
}

function admitBinding(writer: RoleWriter, kind: Kind, { roleRef, namespace, name }: Place & { readonly roleRef: RoleRef }): void {
  const roleKind = roleKindOf(roleRef);
  if (may(writer, "bind", roleKind, { namespace, name: roleRef.name })) return;
  const rules = writer.authorizer.roles.rulesOfRole(roleRef, namespace);
  // The real server names the binding's resource in this message.
  if (rules === undefined) throw notFound(kind, roleRef.name);
  confirmHeld(writer, kind, { rules, namespace, name });
}

function may({ authorizer, user }: RoleWriter, verb: string, kind: Kind, { namespace, name }: Place): boolean {
  const access: Access = { verb, group: rbacGroup, resource: kind.plural, subresource: "", namespace, name, fieldValues: new Map() };
  return authorizer.authorize(user, access).isAllowed;
}

function missing({ authorizer, user }: RoleWriter, rules: readonly PolicyRule[], namespace: string): PolicyRule[] {
  return uncoveredRules(
    authorizer.roles.grantsOf(user, namespace).rules.map(({ rule }) => rule),
    rules,
  );
}

function confirmHeld(writer: RoleWriter, kind: Kind, { rules, namespace, name }: Place & { readonly rules: readonly PolicyRule[] }): void {
  const lacking = missing(writer, rules, namespace);
  if (lacking.length === 0) return;
  const { username, groups } = writer.user;
  const { problems } = writer.authorizer.roles.grantsOf(writer.user, namespace);
  const who = `user ${JSON.stringify(username)} (groups=${quotedList(groups)})`;
  const unresolved = problems.length === 0 ? "" : `; resolution errors: [${problems.join(" ")}]`;
  throw forbidden(kind, name, `${who} is attempting to grant RBAC permissions not currently held:\n${describeRules(lacking)}${unresolved}`);
}
