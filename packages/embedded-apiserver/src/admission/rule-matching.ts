import { storageFormOf, type Kind } from "../kinds/kind.ts";
import type { RuleWithOperations } from "../kinds/plain/validate-matching.ts";
import type { Disposables } from "../resources/disposables.ts";
import type { Cluster } from "../rest/cluster.ts";
import type { AdmissionSubject } from "./admission-plugin.ts";

/** Source of this file: k8s.io/apiserver v0.36.3 pkg/admission/plugin/webhook/predicates/rules, which webhooks and policies share. */

/** Whether a rule of a webhook or a policy includes a request. @param kind - the request's kind, or another version of it */
function matchesRule(
  { operations, apiGroups, apiVersions, resources = [], scope = "*" }: RuleWithOperations,
  { operation, subresource, namespace }: AdmissionSubject,
  kind: Pick<Kind, "group" | "version" | "plural">,
): boolean {
  return (
    matchesScope(scope, kind, namespace) &&
    includes(operations, operation) &&
    includes(apiGroups, kind.group) &&
    includes(apiVersions, kind.version) &&
    resources.some((pattern) => matchesResource(pattern, kind.plural, subresource))
  );
}

function includes(items: readonly string[] = [], wanted: string): boolean {
  return items.includes("*") || items.includes(wanted);
}

function matchesResource(pattern: string, plural: string, subresource: string): boolean {
  const [resource, sub = ""] = pattern.split("/", 2);
  return (resource === "*" || resource === plural) && (sub === "*" || sub === subresource);
}

/** Namespaces themselves are cluster-scoped, although a request for one has its name as namespace. */
function matchesScope(scope: string, kind: Pick<Kind, "group" | "plural">, namespace: string): boolean {
  if (scope === "*") return true;
  const isNamespaced = namespace !== "" && !isNamespaceKind(kind);
  return scope === "Namespaced" ? isNamespaced : scope === "Cluster" && !isNamespaced;
}

/** Whether the kind is that of namespaces. */
function isNamespaceKind({ group, plural }: Pick<Kind, "group" | "plural">): boolean {
  return group === "" && plural === "namespaces";
}

/**
 * Kind in whose version the rules match a request.
 *
 * @param equivalents - other kinds with the same objects
 * @returns `undefined` if no rule matches
 */
export function matchRules(
  { rules = [], matchPolicy }: { readonly rules?: readonly RuleWithOperations[] | undefined; readonly matchPolicy?: string | undefined },
  subject: AdmissionSubject,
  equivalents: (kind: Kind) => readonly Kind[],
): Kind | undefined {
  if (rules.some((rule) => matchesNamedRule(rule, subject, subject.kind))) return subject.kind;
  if (matchPolicy !== "Equivalent") return undefined;
  const others = equivalents(subject.kind);
  for (const rule of rules) {
    const found = others.find((kind) => matchesNamedRule(rule, subject, kind));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Rules of policies can name objects. */
function matchesNamedRule(rule: RuleWithOperations, subject: AdmissionSubject, kind: Kind): boolean {
  const { resourceNames = [] } = rule;
  return matchesRule(rule, subject, kind) && (resourceNames.length === 0 || resourceNames.includes(subject.name));
}

/** Other kinds with the same objects, by kind. The kinds of a server come and go. */
export class EquivalentKinds {
  readonly #cluster: Pick<Cluster, "kinds">;
  #known = new WeakMap<Kind, readonly Kind[]>();

  constructor(cluster: Pick<Cluster, "kinds" | "watchKinds">, resources: Disposables) {
    this.#cluster = cluster;
    resources.use(cluster.watchKinds(() => (this.#known = new WeakMap())));
  }

  readonly of = (kind: Kind): readonly Kind[] => {
    let known = this.#known.get(kind);
    if (known === undefined) this.#known.set(kind, (known = equivalentsOf(kind, this.#cluster.kinds())));
    return known;
  };
}

/** Kinds with the same objects as `kind`, in other versions or groups. */
function equivalentsOf(kind: Kind, kinds: readonly Kind[]): Kind[] {
  const form = storageFormOf(kind);
  return kinds.filter((other) => {
    const { group, version } = storageFormOf(other);
    return other !== kind && other.plural === kind.plural && group === form.group && version === form.version;
  });
}
