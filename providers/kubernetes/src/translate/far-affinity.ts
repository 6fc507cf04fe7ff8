import { providerTaintKey } from "@virtual-kubelet/core";
import type { PodSpec } from "@virtual-kubelet/kube-client";
import { labelValue, tagLabels } from "../identity/tags.ts";
import { isAboutState } from "../node/far-nodes.ts";
import { farLabelKey } from "./far-metadata.ts";
import { virtualNodeTaints } from "./far-tolerations.ts";
import type { Scope } from "./scope.ts";

type Affinity = NonNullable<PodSpec["affinity"]>;
type PodAffinity = NonNullable<Affinity["podAffinity"]>;
type PodAffinityTerm = NonNullable<PodAffinity["requiredDuringSchedulingIgnoredDuringExecution"]>[number];
type NodeSelectorTerm = NonNullable<
  NonNullable<Affinity["nodeAffinity"]>["requiredDuringSchedulingIgnoredDuringExecution"]
>["nodeSelectorTerms"][number];
type LabelSelector = NonNullable<PodAffinityTerm["labelSelector"]>;
type Requirement = NonNullable<LabelSelector["matchExpressions"]>[number];
type Constraint = NonNullable<PodSpec["topologySpreadConstraints"]>[number];

/** Label of every namespace with its name. */
const namespaceNameLabel = "kubernetes.io/metadata.name";

/**
 * Returns the far pod's affinity. That for nodes stays at home, because the virtual node has satisfied it; only pods of a virtual node for
 * a single far node, and pods with tolerations of their own, have one. That between pods is for the pods of the far cluster, or left out.
 */
export function farAffinity(spec: PodSpec, scope: Scope): Affinity | undefined {
  const affinity = { ...farNodeAffinity(spec, scope), ...farAffinityOfPods(spec, scope) };
  return Object.keys(affinity).length > 0 ? affinity : undefined;
}

/**
 * Affinity to the only far node, if there is one: by the field, because a node can have any label. Otherwise, a pod that may tolerate the taint of
 * a virtual node of the far cluster is kept off those nodes, because clusters that are each other's nodes could pass it round and round. Any
 * toleration may be one, because a node's taint can be chosen. A configuration that has the toleration, or tolerates the usual taint of virtual
 * nodes, wants them.
 */
function farNodeAffinity({ tolerations = [] }: PodSpec, { context: { config } }: Scope): Pick<Affinity, "nodeAffinity"> {
  const { farNode, tolerations: configured } = config.scheduling;
  if (farNode !== undefined) return requiredNodes({ matchFields: [{ key: "metadata.name", operator: "In", values: [farNode] }] });
  const wanted = new Set(configured.map(({ key }) => key ?? ""));
  if (wanted.has("") || wanted.has(providerTaintKey)) return {};
  const mayTolerate = tolerations.some(({ key = "" }) => !virtualNodeTaints.includes(key) && !isAboutState({ key }) && !wanted.has(key));
  return mayTolerate ? requiredNodes({ matchExpressions: [{ key: "type", operator: "NotIn", values: ["virtual-kubelet"] }] }) : {};
}

function requiredNodes(term: NodeSelectorTerm): Pick<Affinity, "nodeAffinity"> {
  return { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } } };
}

function farAffinityOfPods({ affinity }: PodSpec, scope: Scope): Pick<Affinity, "podAffinity" | "podAntiAffinity"> {
  if (scope.context.config.scheduling.podAffinity === "drop") {
    for (const field of ["podAffinity", "podAntiAffinity"] as const)
      if (affinity?.[field]) scope.findings.note(`spec.affinity.${field}`, "left out; scheduling.podAffinity: carry keeps it");
    return {};
  }
  const podAffinity = farPodAffinity(affinity?.podAffinity, "spec.affinity.podAffinity", scope);
  const podAntiAffinity = farPodAffinity(affinity?.podAntiAffinity, "spec.affinity.podAntiAffinity", scope);
  return { ...(podAffinity && { podAffinity }), ...(podAntiAffinity && { podAntiAffinity }) };
}

function farPodAffinity(affinity: PodAffinity | undefined, path: string, scope: Scope): PodAffinity | undefined {
  const { requiredDuringSchedulingIgnoredDuringExecution: needed = [], preferredDuringSchedulingIgnoredDuringExecution: liked = [] } =
    affinity ?? {};
  const required = needed.flatMap(
    (term, index) => farTerm(term, `${path}.requiredDuringSchedulingIgnoredDuringExecution[${index}]`, scope) ?? [],
  );
  const preferred = liked.flatMap(({ weight, podAffinityTerm }, index) => {
    const term = farTerm(podAffinityTerm, `${path}.preferredDuringSchedulingIgnoredDuringExecution[${index}].podAffinityTerm`, scope);
    return term ? [{ weight, podAffinityTerm: term }] : [];
  });
  if (required.length === 0 && preferred.length === 0) return undefined;
  return {
    ...(required.length > 0 && { requiredDuringSchedulingIgnoredDuringExecution: required }),
    ...(preferred.length > 0 && { preferredDuringSchedulingIgnoredDuringExecution: preferred }),
  };
}

/** Returns the term for the far cluster; `undefined`, with a note, if it cannot be said there. */
function farTerm(term: PodAffinityTerm, path: string, scope: Scope): PodAffinityTerm | undefined {
  const { labelSelector, namespaces: _names, namespaceSelector: _selector, matchLabelKeys, mismatchLabelKeys, ...rest } = term;
  const place = farNamespaces(term, scope);
  if (!place) {
    scope.findings.note(
      `${path}.namespaceSelector`,
      "the term is left out, because the labels of home namespaces are not known in the far cluster; select namespaces by name",
    );
    return undefined;
  }
  const selector = farSelector(labelSelector, place.homeNamespaces, scope);
  const matching = farKeys(matchLabelKeys, labelSelector, scope);
  const mismatching = farKeys(mismatchLabelKeys, labelSelector, scope);
  if (selector === "lost" || matching === "lost" || mismatching === "lost") {
    noteLost(`${path}.labelSelector`, "term", scope);
    return undefined;
  }
  return {
    ...rest,
    ...(selector && { labelSelector: selector }),
    ...(place.namespaces && { namespaces: [...place.namespaces] }),
    ...(place.namespaceSelector && { namespaceSelector: place.namespaceSelector }),
    ...(matching.length > 0 && { matchLabelKeys: matching }),
    ...(mismatching.length > 0 && { mismatchLabelKeys: mismatching }),
  };
}

/** Returns the far pod's topology spread constraints, for the far nodes. */
export function farTopologySpread({ topologySpreadConstraints }: PodSpec, scope: Scope): Constraint[] | undefined {
  if (!topologySpreadConstraints) return undefined;
  if (scope.context.config.scheduling.topologySpread === "drop") {
    scope.findings.note("spec.topologySpreadConstraints", "left out; scheduling.topologySpread: carry keeps them");
    return undefined;
  }
  return topologySpreadConstraints.flatMap(({ labelSelector, matchLabelKeys, ...rest }, index) => {
    const selector = farSelector(labelSelector, [scope.homeNamespace], scope);
    const matching = farKeys(matchLabelKeys, labelSelector, scope);
    if (selector === "lost" || matching === "lost") {
      noteLost(`spec.topologySpreadConstraints[${index}].labelSelector`, "constraint", scope);
      return [];
    }
    return [{ ...rest, ...(selector && { labelSelector: selector }), ...(matching.length > 0 && { matchLabelKeys: matching }) }];
  });
}

function noteLost(path: string, what: string, { findings }: Scope): void {
  findings.note(path, `the ${what} is left out, because it selects a label that stays at home; see carry.labels.exclude`);
}

/**
 * Returns where the pods of a term are: in the far cluster, and, where home namespaces share a far one, in which home namespaces, if not in
 * all. `undefined` if that cannot be said.
 */
function farNamespaces(
  { namespaces = [], namespaceSelector }: PodAffinityTerm,
  { homeNamespace, context }: Scope,
):
  | {
      readonly namespaces?: readonly string[];
      readonly namespaceSelector?: LabelSelector;
      readonly homeNamespaces: readonly string[] | undefined;
    }
  | undefined {
  const selected = namespaceSelector && selectedNames(namespaceSelector);
  if (context.namespaces.only !== undefined) {
    if (selected === "all") return { homeNamespaces: undefined };
    if (selected === "by labels") return undefined;
    const names = [...namespaces, ...(selected ?? [])];
    return { homeNamespaces: names.length === 0 && !namespaceSelector ? [homeNamespace] : names };
  }
  const named = (names: readonly string[]): string[] => names.map((name) => context.namespaces.toFar(name));
  const isOther = selected === "all" || selected === "by labels";
  const names = [...namespaces, ...(isOther ? [] : (selected ?? []))];
  return {
    homeNamespaces: undefined,
    ...(names.length > 0 && { namespaces: named(names) }),
    ...(isOther && namespaceSelector && { namespaceSelector }),
  };
}

/** The namespaces that a selector selects by their names alone. */
function selectedNames({ matchLabels = {}, matchExpressions = [] }: LabelSelector): readonly string[] | "all" | "by labels" {
  const requirements: readonly Requirement[] = [
    ...Object.entries(matchLabels).map(([key, value]) => ({ key, operator: "In", values: [value] })),
    ...matchExpressions,
  ];
  const [first, ...others] = requirements;
  if (!first) return "all";
  return others.length === 0 && first.key === namespaceNameLabel && first.operator === "In" ? (first.values ?? []) : "by labels";
}

/**
 * Returns a selector of far pods: with the keys that labels have there, and for the pods of the given home namespaces where several share
 * a far one. `lost` if it selects a label that stays at home.
 */
function farSelector(
  selector: LabelSelector | undefined,
  homeNamespaces: readonly string[] | undefined,
  { context: { config, namespaces } }: Scope,
): LabelSelector | undefined | "lost" {
  if (!selector) return undefined;
  const keyOf = (key: string): string | undefined => farLabelKey(key, config.carry);
  const labels = Object.entries(selector.matchLabels ?? {}).map(([key, value]) => [keyOf(key), value] as const);
  const requirements = (selector.matchExpressions ?? []).map(({ key, ...rest }) => ({ key: keyOf(key), ...rest }));
  const matchLabels = Object.fromEntries(labels);
  const matchExpressions = requirements.flatMap(({ key, ...rest }) => (key === undefined ? [] : [{ key, ...rest }]));
  if (labels.some(([key]) => key === undefined) || matchExpressions.length < requirements.length) return "lost";
  if (namespaces.only !== undefined && homeNamespaces)
    matchExpressions.push({ key: tagLabels.namespace, operator: "In", values: homeNamespaces.map(labelValue) });
  return {
    ...(labels.length > 0 && { matchLabels }),
    ...(matchExpressions.length > 0 && { matchExpressions }),
  };
}

/**
 * Returns label keys for the far pod's own labels. Those that the API server of home has already merged into the selector are left out,
 * because the far one would merge them again.
 */
function farKeys(keys: readonly string[] = [], selector: LabelSelector | undefined, { context: { config } }: Scope): string[] | "lost" {
  const open = keys.filter((key) => !selector?.matchExpressions?.some((requirement) => requirement.key === key));
  const far = open.flatMap((key) => farLabelKey(key, config.carry) ?? []);
  return far.length < open.length ? "lost" : far;
}
