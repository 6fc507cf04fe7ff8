import type { DeepReadonly, Node, Pod, PodSpec } from "@virtual-kubelet/kube-client";
import { ownValue } from "../kubernetes/own-value.ts";

type NodeAffinity = NonNullable<NonNullable<PodSpec["affinity"]>["nodeAffinity"]>;
type Term = DeepReadonly<NonNullable<NodeAffinity["requiredDuringSchedulingIgnoredDuringExecution"]>["nodeSelectorTerms"][number]>;
type Requirement = NonNullable<Term["matchExpressions"]>[number];
type Values = Readonly<Record<string, string | undefined>>;

/**
 * Whether the node is one the pod's `nodeSelector` and required node affinity allow. A term that cannot be read, and
 * one that is empty, allows none.
 * Source: k8s.io/component-helpers v0.36.3 scheduling/corev1/nodeaffinity.
 */
export function matchesNodeAffinity(pod: DeepReadonly<Pod>, node: DeepReadonly<Node>): boolean {
  const labels: Values = node.metadata?.labels ?? {};
  const selector: Values = pod.spec?.nodeSelector ?? {};
  if (!Object.entries(selector).every(([key, value]) => ownValue(labels, key) === value)) return false;
  const required = pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return !required || matchesNodeSelector(required, node);
}

/** Whether a node is one that a selector's terms allow: one of them is enough. */
export function matchesNodeSelector(
  { nodeSelectorTerms }: { readonly nodeSelectorTerms: readonly Term[] },
  node: DeepReadonly<Node>,
): boolean {
  return nodeSelectorTerms.some((term) => matchesTerm(term, node));
}

function matchesTerm({ matchExpressions = [], matchFields = [] }: Term, node: DeepReadonly<Node>): boolean {
  if (matchExpressions.length === 0 && matchFields.length === 0) return false;
  const labels: Values = node.metadata?.labels ?? {};
  const fields: Values = { "metadata.name": node.metadata?.name };
  return (
    matchExpressions.every((requirement) => matchesLabel(requirement, labels)) &&
    matchFields.every((requirement) => matchesField(requirement, fields))
  );
}

function matchesLabel({ key, operator, values = [] }: Requirement, labels: Values): boolean {
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

function matchesField({ key, operator, values = [] }: Requirement, fields: Values): boolean {
  if (values.length !== 1) return false;
  const isEqual = (ownValue(fields, key) ?? "") === values[0];
  return operator === "In" ? isEqual : operator === "NotIn" && !isEqual;
}

function toInteger(text: string | undefined): bigint | undefined {
  return text !== undefined && /^[+-]?\d+$/.test(text) ? BigInt(text.replace("+", "")) : undefined;
}
