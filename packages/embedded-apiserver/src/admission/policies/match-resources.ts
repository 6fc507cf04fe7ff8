import type { Kind, ObjectReader } from "../../kinds/kind.ts";
import type { MatchResources } from "../../kinds/plain/validate-matching.ts";
import type { AdmissionRequest } from "../admission-plugin.ts";
import { matchRules, type EquivalentKinds } from "../rule-matching.ts";
import { matchesNamespaceSelector, matchesObjectSelector } from "../selectors.ts";

/**
 * Kind in whose version a policy or binding applies to a request.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/admission/plugin/policy/matching/matching.go.
 *
 * @returns `undefined` if it does not apply
 * @throws ApiStatusError 404 if the request's namespace does not exist, and its labels matter
 */
export function matchedKind(
  { namespaceSelector, objectSelector, resourceRules = [], excludeResourceRules: excluded, matchPolicy }: MatchResources,
  request: AdmissionRequest,
  { cluster, equivalents }: { readonly cluster: ObjectReader; readonly equivalents: EquivalentKinds },
): Kind | undefined {
  let namespaceProblem: unknown;
  try {
    if (!matchesNamespaceSelector(namespaceSelector, request, cluster)) return undefined;
  } catch (error) {
    namespaceProblem = error;
  }
  if (!matchesObjectSelector(objectSelector, request)) return undefined;
  if (matchRules({ rules: excluded, matchPolicy }, request, equivalents.of) !== undefined) return undefined;
  const kind = resourceRules.length === 0 ? request.kind : matchRules({ rules: resourceRules, matchPolicy }, request, equivalents.of);
  if (kind !== undefined && namespaceProblem !== undefined) throw namespaceProblem;
  return kind;
}
