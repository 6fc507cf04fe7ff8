import { withDeadline } from "@virtual-kubelet/async";
import type { NeededAccess } from "../manifests/access-rights.ts";
import type { AccessAuthority } from "./access-review.ts";

/** Accesses that the API server allows the program's user. */
export interface AccessRule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  /** Absent or empty for all objects. */
  readonly resourceNames?: readonly string[];
}

/** Timeout of the review, in milliseconds. */
const timeoutMs = 10_000;

const reviews = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";

/** The review needs a namespace. No namespace has this name, as dots are not allowed in it, so that only the rules of the whole cluster apply. */
const noNamespace = "no.namespace";

/**
 * Asks the API server for the rules of the program's user. The review is not stored.
 *
 * @param namespace - `undefined` for the rules in the whole cluster
 * @returns `undefined` if the API server does not tell all of them, for example because a webhook authorizes too
 */
export async function askRules(
  namespace: string | undefined,
  { client, clock }: AccessAuthority,
  signal: AbortSignal,
): Promise<readonly AccessRule[] | undefined> {
  const spec = { namespace: namespace ?? noNamespace };
  const review = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectRulesReview", spec };
  try {
    const answer = await withDeadline({ clock, timeoutMs, what: "ask which accesses are allowed" }, signal, (inner) =>
      client.raw("POST", reviews, review, { signal: inner }),
    );
    const { status } = Object(answer) as { readonly status?: { readonly incomplete?: unknown; readonly resourceRules?: unknown } };
    return status?.incomplete === false && Array.isArray(status.resourceRules) ? status.resourceRules : undefined;
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

/** Whether a rule allows an access. Source: kubernetes v1.36.3 pkg/apis/rbac/v1/evaluation_helpers.go, RuleAllows. */
export function allows({ verbs, apiGroups = [], resources = [], resourceNames = [] }: AccessRule, access: NeededAccess): boolean {
  const { verb, group, resource, subresource, name } = access;
  const paths = subresource === undefined ? ["*", resource] : ["*", `${resource}/${subresource}`, `*/${subresource}`];
  return (
    (verbs.includes("*") || verbs.includes(verb)) &&
    (apiGroups.includes("*") || apiGroups.includes(group)) &&
    resources.some((path) => paths.includes(path)) &&
    (resourceNames.length === 0 || (name !== undefined && resourceNames.includes(name)))
  );
}
