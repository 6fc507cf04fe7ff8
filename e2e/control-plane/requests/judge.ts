import { expect } from "vitest";
import { unexplained, type Differences } from "./differences.ts";

/** Expects exactly the differences of the list. @param textOf - what to show of a difference that is not in it */
export function expectOnly<Comparison extends { readonly name: string; readonly isIdentical: boolean }>(
  differences: Differences,
  comparisons: readonly Comparison[],
  textOf: (comparison: Comparison) => string,
): void {
  expect(Object.keys(differences)).not.toContain(unexplained);
  const differing = comparisons.filter(({ isIdentical }) => !isIdentical);
  const listed = Object.values(differences).flat();
  const surprises = differing.filter(({ name }) => !listed.includes(name)).map(textOf);
  expect(surprises, surprises.join("\n")).toEqual([]);
  expect(listed.toSorted()).toEqual(differing.map(({ name }) => name).toSorted());
}
