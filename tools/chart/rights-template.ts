import { isDeepStrictEqual } from "node:util";
import { serviceAccountRights, type AccessNeeds } from "../../packages/cli/src/manifests/access-rights.ts";

/** A rule of a role. */
type Rule = Readonly<Record<string, readonly string[]>>;

/** Conditions of the template, each with what it means for {@link AccessNeeds}. */
const conditions = [
  "deletes",
  "drains",
  "readsClusterId",
  "provisionsVolumes",
  "discoversNodes",
  "tokenReviews",
  "subjectAccessReviews",
  "servingCertificate",
] as const;

type Condition = (typeof conditions)[number];

/** Names that stand for those of all nodes, and of the nodes that are deleted at the end. */
const names = { kept: "NODE-KEPT", deleted: "NODE-DELETED" };

/** Templates and the roles whose rules they contain, in the objects for one namespace. */
const roles = {
  cluster: { kind: "ClusterRole", namespace: undefined },
  pods: { kind: "Role", namespace: "pods-namespace" },
  leases: { kind: "Role", namespace: "kube-node-lease" },
  events: { kind: "Role", namespace: "default" },
} as const;

type RoleName = keyof typeof roles;

function needsFor(on: ReadonlySet<Condition>): AccessNeeds {
  return {
    nodes: [
      { name: names.kept, onShutdown: on.has("drains") ? "drain" : "keep" },
      { name: names.deleted, onShutdown: on.has("deletes") ? "delete" : "keep" },
      ...(on.has("discoversNodes") ? [{ name: "NODES-OF-THE-BACK-END", onShutdown: "keep", discovers: true } as const] : []),
    ],
    readsClusterId: on.has("readsClusterId"),
    provisionsVolumes: on.has("provisionsVolumes"),
    kubeletApi: {
      tokenReviews: on.has("tokenReviews"),
      subjectAccessReviews: on.has("subjectAccessReviews"),
      publishedClientCa: false,
      servingCertificate: on.has("servingCertificate"),
    },
  };
}

function rulesOf(name: RoleName, needs: AccessNeeds): readonly Rule[] {
  const { kind, namespace } = roles[name];
  const found = serviceAccountRights(needs, ["pods-namespace"]).find(
    ({ object }) => object.kind === kind && object.metadata?.namespace === namespace,
  );
  if (found === undefined) throw new Error(`access-rights.ts has no ${kind} in ${namespace ?? "the cluster"} any more`);
  return found.object["rules"] as readonly Rule[];
}

/** Rules of one role: those that always apply, and those of each condition. */
interface ConditionalRules {
  readonly always: readonly Rule[];
  when(condition: Condition): readonly Rule[];
}

/**
 * Takes a role apart into rules by condition.
 *
 * @throws Error if the rules for several conditions are not those of each condition together, because the template could not express that
 */
function takeApart(name: RoleName): ConditionalRules {
  const rulesIf = (on: ReadonlySet<Condition>): readonly Rule[] => rulesOf(name, needsFor(on));
  const always = rulesIf(new Set());
  const isNew = (rule: Rule): boolean => !always.some((other) => isDeepStrictEqual(rule, other));
  const when = (condition: Condition): readonly Rule[] => rulesIf(new Set([condition])).filter(isNew);
  for (let bits = 0; bits < 2 ** conditions.length; bits++) {
    const on = new Set(conditions.filter((_, index) => (bits & (1 << index)) !== 0));
    const together = [...always, ...conditions.filter((condition) => on.has(condition)).flatMap(when)];
    if (!isDeepStrictEqual(sorted(rulesIf(on)), sorted(together)))
      throw new Error(
        `the rules of the role ${name} with ${[...on].join(", ")} are not those of each condition: change tools/chart/rights-template.ts`,
      );
  }
  return { always, when };
}

function sorted(rules: readonly Rule[]): string[] {
  return rules.map((rule) => JSON.stringify(rule)).sort();
}

/** Helm's template of all rules, from the program's own. Its argument has a boolean for each condition and `sharesNodes`, `nodes` and `deletedNodes`. */
export function renderRightsTemplate(): string {
  const head = "{{- /* Written by `make generate` from packages/cli/src/manifests/access-rights.ts. Do not edit. */ -}}";
  const names = Object.keys(roles) as RoleName[];
  return [head, ...names.flatMap((name) => ["", ...renderRole(name)]), ""].join("\n");
}

function renderRole(name: RoleName): string[] {
  const { always, when } = takeApart(name);
  const rules = [
    ...always.flatMap(renderRule),
    ...conditions.flatMap((condition) =>
      when(condition).length === 0 ? [] : [`{{- if .${condition} }}`, ...when(condition).flatMap(renderRule), "{{- end }}"],
    ),
  ];
  // The nodes of a group are neither deleted nor discovered, so that no other condition changes these.
  const shared = rulesOf(name, { ...needsFor(new Set()), sharesNodes: true });
  const isSame = isDeepStrictEqual(shared, always);
  return [
    `{{- define "virtual-kubelet.rules.${name}" -}}`,
    ...(isSame ? rules : ["{{- if .sharesNodes }}", ...shared.flatMap(renderRule), "{{- else }}", ...rules, "{{- end }}"]),
    "{{- end -}}",
  ];
}

function renderRule(rule: Rule): string[] {
  return Object.entries(rule).map(([field, value], index) => `${index === 0 ? "- " : "  "}${field}: ${renderList(value)}`);
}

function renderList(value: readonly string[]): string {
  if (isDeepStrictEqual(value, [names.kept, names.deleted])) return "{{ toJson .nodes }}";
  if (isDeepStrictEqual(value, [names.deleted])) return "{{ toJson .deletedNodes }}";
  return JSON.stringify(value);
}
