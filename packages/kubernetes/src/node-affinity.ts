import { ownValue } from "./own-value.ts";

/** One condition of a node selector. */
export interface NodeSelectorRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[] | undefined;
}

/** Conditions that hold together. */
export interface NodeSelectorTerm {
  readonly matchExpressions?: readonly NodeSelectorRequirement[] | undefined;
  readonly matchFields?: readonly NodeSelectorRequirement[] | undefined;
}

/** Terms of which one has to hold. */
export interface NodeSelector {
  readonly nodeSelectorTerms?: readonly NodeSelectorTerm[] | null | undefined;
}

/** The part of a pod's spec that says on which nodes it may run. */
export interface NodePlacement {
  readonly nodeSelector?: Values | undefined;
  readonly affinity?:
    | { readonly nodeAffinity?: { readonly requiredDuringSchedulingIgnoredDuringExecution?: NodeSelector | undefined } | undefined }
    | undefined;
}

/** The part of a node that a selector looks at. */
export interface SelectableNode {
  readonly metadata?: { readonly name?: string | undefined; readonly labels?: Values | undefined } | undefined;
}

type Values = Readonly<Record<string, string | undefined>>;

/**
 * Whether the pod's `nodeSelector` and required node affinity allow the node. A term that is empty or cannot be read allows none.
 * Source: k8s.io/component-helpers v0.36.3 scheduling/corev1/nodeaffinity.
 */
export function matchesNodeAffinity(spec: NodePlacement | undefined, node: SelectableNode): boolean {
  const labels: Values = node.metadata?.labels ?? {};
  if (!Object.entries(spec?.nodeSelector ?? {}).every(([key, value]) => ownValue(labels, key) === value)) return false;
  const required = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return !required || matchesNodeSelector(required, node);
}

/** Whether one of the selector's terms allows the node. */
export function matchesNodeSelector({ nodeSelectorTerms }: NodeSelector, node: SelectableNode): boolean {
  return (nodeSelectorTerms ?? []).some((term) => matchesTerm(term, node));
}

function matchesTerm({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm, node: SelectableNode): boolean {
  if (matchExpressions.length === 0 && matchFields.length === 0) return false;
  const labels: Values = node.metadata?.labels ?? {};
  const fields: Values = { "metadata.name": node.metadata?.name };
  return (
    matchExpressions.every((requirement) => matchesLabel(requirement, labels)) &&
    matchFields.every((requirement) => matchesField(requirement, fields))
  );
}

function matchesLabel({ key, operator, values = [] }: NodeSelectorRequirement, labels: Values): boolean {
  const value = ownValue(labels, key);
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return values.length > 0 && (value === undefined || !values.includes(value));
    case "Exists":
      return values.length === 0 && value !== undefined;
    case "DoesNotExist":
      return values.length === 0 && value === undefined;
    case "Gt":
    case "Lt": {
      const [actual, bound] = [toInteger(value), values.length === 1 ? toInteger(values[0]) : undefined];
      if (actual === undefined || bound === undefined) return false;
      return operator === "Gt" ? actual > bound : actual < bound;
    }
    default:
      return false;
  }
}

function matchesField({ key, operator, values = [] }: NodeSelectorRequirement, fields: Values): boolean {
  if (values.length !== 1) return false;
  const isEqual = (ownValue(fields, key) ?? "") === values[0];
  return operator === "In" ? isEqual : operator === "NotIn" && !isEqual;
}

function toInteger(text: string | undefined): bigint | undefined {
  if (text === undefined || !/^[+-]?\d+$/.test(text)) return undefined;
  const value = BigInt(text.replace("+", ""));
  return BigInt.asIntN(64, value) === value ? value : undefined;
}
