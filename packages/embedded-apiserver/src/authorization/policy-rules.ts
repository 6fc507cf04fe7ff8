import type { PolicyRule } from "../kinds/rbac/rbac-fields.ts";
import { type Access, isResourceAccess } from "./access-request.ts";

/**
 * Whether a rule allows an access.
 *
 * Source: Kubernetes v1.36.3 pkg/apis/rbac/v1/evaluation_helpers.go and plugin/pkg/auth/authorizer/rbac/rbac.go.
 */
export function ruleAllows(rule: PolicyRule, access: Access): boolean {
  if (!hasOrAll(rule.verbs ?? [], access.verb)) return false;
  if (!isResourceAccess(access)) return (rule.nonResourceURLs ?? []).some((url) => coversUrl(url, access.path));
  const { group, resource, subresource, name } = access;
  const resources = rule.resources ?? [];
  const matches = hasOrAll(resources, subresource === "" ? resource : `${resource}/${subresource}`);
  return (
    hasOrAll(rule.apiGroups ?? [], group) &&
    (matches || (subresource !== "" && resources.includes(`*/${subresource}`))) &&
    (rule.resourceNames === undefined || rule.resourceNames.length === 0 || rule.resourceNames.includes(name))
  );
}

function hasOrAll(values: readonly string[], value: string): boolean {
  return values.includes("*") || values.includes(value);
}

function coversUrl(owned: string, url: string): boolean {
  return owned === "*" || owned === url || (owned.endsWith("*") && url.startsWith(owned.replace(/\*+$/, "")));
}

/**
 * Wanted rules that the owned rules do not cover, split into one verb and one resource each.
 *
 * Source: k8s.io/component-helpers v0.36.3 auth/rbac/validation/policy_comparator.go, `Covers`.
 */
export function uncoveredRules(owned: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  return wanted.flatMap(singleRules).filter((single) => !owned.some((rule) => ruleCovers(rule, single)));
}

function singleRules({ verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }: PolicyRule): PolicyRule[] {
  const all = verbs ?? [];
  const singles = apiGroups.flatMap((group) =>
    resources.flatMap((resource) =>
      all.flatMap((verb): PolicyRule[] => {
        const single = { apiGroups: [group], resources: [resource], verbs: [verb] };
        return resourceNames.length === 0 ? [single] : resourceNames.map((name) => ({ ...single, resourceNames: [name] }));
      }),
    ),
  );
  return [...singles, ...nonResourceURLs.flatMap((url) => all.map((verb) => ({ nonResourceURLs: [url], verbs: [verb] })))];
}

/** Whether a rule covers a rule with a single verb and resource. */
function ruleCovers(rule: PolicyRule, single: PolicyRule): boolean {
  const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  return (
    (single.verbs ?? []).every((verb) => hasOrAll(verbs ?? [], verb)) &&
    (single.apiGroups ?? []).every((group) => hasOrAll(apiGroups, group)) &&
    (single.resources ?? []).every((resource) => coversResource(resources, resource)) &&
    (single.nonResourceURLs ?? []).every((url) => nonResourceURLs.some((owned) => coversUrl(owned, url))) &&
    (resourceNames.length === 0 || (single.resourceNames ?? [""]).every((name) => resourceNames.includes(name)))
  );
}

function coversResource(resources: readonly string[], resource: string): boolean {
  const slash = resource.indexOf("/");
  return hasOrAll(resources, resource) || (slash > 0 && resources.includes(`*${resource.slice(slash)}`));
}

/**
 * Formats rules as in the message of a refused escalation: sorted, one line per resource.
 *
 * Source: Kubernetes v1.36.3 pkg/registry/rbac/validation/policy_compact.go and `CompactString`.
 */
export function describeRules(singles: readonly PolicyRule[]): string {
  const merged = new Map<string, PolicyRule>();
  const lines: string[] = [];
  for (const single of singles) {
    if (single.nonResourceURLs !== undefined) {
      lines.push(describeRule(single));
      continue;
    }
    const key = JSON.stringify([single.apiGroups, single.resources, single.resourceNames]);
    const known = merged.get(key);
    if (known === undefined) merged.set(key, { ...single, verbs: [...(single.verbs ?? [])] });
    else known.verbs?.push(...(single.verbs ?? []));
  }
  return [...new Set([...lines, ...[...merged.values()].map(describeRule)])].toSorted().join("\n");
}

function describeRule({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): string {
  const parts: [string, readonly string[] | null | undefined][] = [
    ["APIGroups", apiGroups],
    ["Resources", resources],
    ["NonResourceURLs", nonResourceURLs],
    ["ResourceNames", resourceNames],
    ["Verbs", verbs],
  ];
  const filled = parts.filter(([, values]) => (values ?? []).length > 0);
  return `{${filled.map(([name, values]) => `${name}:${quotedList(values ?? [])}`).join(", ")}}`;
}

/** List of strings as Go prints it with `%q`. */
export function quotedList(values: readonly string[]): string {
  return `[${values.map((value) => JSON.stringify(value)).join(" ")}]`;
}
