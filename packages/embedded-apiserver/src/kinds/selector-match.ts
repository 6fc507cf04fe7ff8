import type { LabelSelectorField } from "./pod/pod-fields.ts";

/**
 * Whether labels meet a `metav1.LabelSelector`. An absent selector selects nothing, an empty one everything.
 * Source: k8s.io/apimachinery v0.36.3 pkg/apis/meta/v1/helpers.go, LabelSelectorAsSelector.
 */
export function matchesSelector(selector: LabelSelectorField | null | undefined, labels: Readonly<Record<string, string>> = {}): boolean {
  if (selector === null || selector === undefined) return false;
  const hasLabels = Object.entries(selector.matchLabels ?? {}).every(([key, value]) => labels[key] === value);
  return (
    hasLabels &&
    (selector.matchExpressions ?? []).every(({ key, operator, values = [] }) => matchesExpression(labels[key], operator, values))
  );
}

function matchesExpression(label: string | undefined, operator: string, values: readonly string[]): boolean {
  switch (operator) {
    case "In":
      return label !== undefined && values.includes(label);
    case "NotIn":
      return label === undefined || !values.includes(label);
    case "Exists":
      return label !== undefined;
    case "DoesNotExist":
      return label === undefined;
    default:
      return false;
  }
}

/** Whether a selector selects everything; such a one is refused by those who run pods. */
export function selectsEverything(selector: LabelSelectorField | null): boolean {
  return selector !== null && Object.keys(selector.matchLabels ?? {}).length === 0 && (selector.matchExpressions ?? []).length === 0;
}
