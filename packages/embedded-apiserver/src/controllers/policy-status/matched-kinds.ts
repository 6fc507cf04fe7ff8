import type { PolicySpec } from "../../admission/policies/policy-fields.ts";
import { apiResources, groupVersions, type ApiResource, type GroupVersion } from "../../discovery/api-resources.ts";
import type { Kind } from "../../kinds/kind.ts";

/** A kind as discovery describes it; some are never stored. */
export type DescribedKind = ApiResource["kind"];

type ResourceRule = NonNullable<NonNullable<PolicySpec["matchConstraints"]>["resourceRules"]>[number];

/** Most kinds against which a policy is checked, for each of its rules. */
const kindLimit = 10;

/**
 * Kinds that the rules of a policy name without wildcards, in the order of group, version and kind.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/admission/plugin/policy/validating/typechecking.go, `typesToCheck`.
 */
export function matchedKinds({ matchConstraints }: PolicySpec, kinds: readonly Kind[]): readonly DescribedKind[] {
  const found = new Map<string, DescribedKind>();
  for (const rule of matchConstraints?.resourceRules ?? []) {
    const matched = kindsOfRule(rule, kinds);
    for (const kind of matched.slice(0, kindLimit)) found.set(sortKey(kind), kind);
    if (matched.length >= kindLimit) break;
  }
  return [...found].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, kind]) => kind);
}

function kindsOfRule({ apiGroups = [], apiVersions = [], resources = [] }: ResourceRule, kinds: readonly Kind[]): readonly DescribedKind[] {
  if ([...apiGroups, ...apiVersions].some((name) => name.includes("*"))) return [];
  const plain = resources.filter((resource) => !/[*/]/.test(resource));
  return apiGroups
    .toSorted()
    .flatMap((group) =>
      apiVersions.toSorted().flatMap((version) => plain.toSorted().flatMap((resource) => kindsOf({ group, version }, resource, kinds))),
    );
}

/**
 * Kinds of a resource by its plural or singular name. Without a group, those of all groups that have the version.
 *
 * Source: k8s.io/apimachinery v0.36.3 pkg/api/meta/restmapper.go, `ResourcesFor`.
 */
function kindsOf({ group, version }: GroupVersion, resource: string, kinds: readonly Kind[]): readonly DescribedKind[] {
  return groupVersions(kinds)
    .filter((served) => served.version === version && (group === "" || served.group === group))
    .flatMap((served) => apiResources(served, kinds))
    .map(({ kind }) => kind)
    .filter(({ plural, singular }) => [plural, singular].includes(resource.toLowerCase()));
}

function sortKey({ group, version, kind }: DescribedKind): string {
  return [group, version, kind].join("\0");
}
