import { expect, test } from "vitest";
import { differenceText } from "./requests/compare.ts";
import { readDifferences, unexplained } from "./requests/differences.ts";
import { compareAll } from "./requests/servers.ts";

test("every request is answered as by a real kube-apiserver, except those of the list", async () => {
  const differences = readDifferences();

  const comparisons = await compareAll();

  expect(comparisons.length).toBeGreaterThan(600);
  expect(Object.keys(differences)).not.toContain(unexplained);
  const differing = comparisons.filter(({ isIdentical }) => !isIdentical);
  const listed = Object.values(differences).flat();
  const surprises = differing.filter(({ name }) => !listed.includes(name)).map(differenceText);
  expect(surprises, surprises.join("\n")).toEqual([]);
  expect(listed.toSorted()).toEqual(differing.map(({ name }) => name).toSorted());
});
