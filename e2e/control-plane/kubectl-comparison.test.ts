import { expect, test } from "vitest";
import { comparedKubectls, compareKubectls, differenceText } from "./kubectl-comparison/compare.ts";
import { readDifferences } from "./requests/differences.ts";
import { expectOnly } from "./requests/judge.ts";

test("every command of the oldest, a middle and the newest kubectl prints what it prints on a real server, except those of the list", async () => {
  const differences = readDifferences(`${import.meta.dirname}/kubectl-comparison`);

  const comparisons = await compareKubectls(await comparedKubectls());

  expect(comparisons.length).toBeGreaterThan(350);
  expectOnly(differences, comparisons, differenceText);
}, 600_000);
