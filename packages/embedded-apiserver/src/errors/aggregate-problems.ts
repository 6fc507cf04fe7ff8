/** Several problems as one message, as Go aggregates errors. Source: k8s.io/apimachinery v0.36.3 pkg/util/errors/errors.go. */
export function aggregateProblems(problems: readonly string[]): string {
  const distinct = [...new Set(problems)];
  return distinct.length === 1 ? (distinct[0] ?? "") : `[${distinct.join(", ")}]`;
}
