import { expect, test } from "vitest";
import { differenceText } from "./requests/compare.ts";
import { readDifferences } from "./requests/differences.ts";
import { expectOnly } from "./requests/judge.ts";
import { compareAll } from "./requests/servers.ts";

test("every request is answered as by a real kube-apiserver, except those of the list", async () => {
  const differences = readDifferences();

  const comparisons = await compareAll();

  expect(comparisons.length).toBeGreaterThan(600);
  expectOnly(differences, comparisons, differenceText);
});
