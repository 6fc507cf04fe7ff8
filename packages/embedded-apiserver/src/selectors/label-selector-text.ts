import type { LabelSelector } from "@virtual-kubelet/kubernetes";

/** Formats labels as `a=b,c=d`, sorted; `<none>` if there are none. */
export function formatLabels(labels: Readonly<Record<string, string>> | undefined): string {
  const parts = Object.entries(labels ?? {}).map(([key, value]) => `${key}=${value}`);
  return parts.length === 0 ? "<none>" : parts.toSorted().join(",");
}

/** Formats a selector as kubectl accepts it, sorted by key; empty for an absent or empty selector. */
export function formatLabelSelector(selector: LabelSelector | null | undefined): string {
  const requirements = [
    ...Object.entries(selector?.matchLabels ?? {}).map(([key, value]) => ({ key, text: `${key}=${value}` })),
    ...(selector?.matchExpressions ?? []).map(({ key, operator, values = [] }) => ({ key, text: formatExpression(key, operator, values) })),
  ];
  return requirements
    .toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
    .map(({ text }) => text)
    .join(",");
}

function formatExpression(key: string, operator: string, values: readonly string[]): string {
  const list = `(${values.toSorted().join(",")})`;
  switch (operator) {
    case "In":
      return `${key} in ${list}`;
    case "NotIn":
      return `${key} notin ${list}`;
    case "Exists":
      return key;
    case "DoesNotExist":
      return `!${key}`;
    default:
      return "<invalid>";
  }
}

/** Whether a selector is present and empty. Kinds that run pods refuse it, because it selects every pod. */
export function selectsEverything(selector: LabelSelector | null): boolean {
  return selector !== null && Object.keys(selector.matchLabels ?? {}).length === 0 && (selector.matchExpressions ?? []).length === 0;
}
