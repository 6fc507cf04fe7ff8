import { expect, test } from "vitest";
import { comparedKubectls, compareKubectls, differenceText } from "./kubectl-comparison/compare.ts";
import { readDifferences, unexplained } from "./requests/differences.ts";

test("every command of the oldest, a middle and the newest kubectl prints what it prints on a real server, except those of the list", async () => {
  const differences = readDifferences(`${import.meta.dirname}/kubectl-comparison`);

  const comparisons = await compareKubectls(await comparedKubectls());

  expect(comparisons.length).toBeGreaterThan(350);
  expect(Object.keys(differences)).not.toContain(unexplained);
  const differing = comparisons.filter(({ isIdentical }) => !isIdentical);
  const listed = Object.values(differences).flat();
  const surprises = differing.filter(({ name }) => !listed.includes(name)).map(differenceText);
  expect(surprises, surprises.join("\n")).toEqual([]);
  expect(listed.toSorted()).toEqual(differing.map(({ name }) => name).toSorted());
}, 600_000);
