import { expect, inject, test } from "vitest";
import { describeResult } from "./describe-result.ts";
import { runSeeds } from "./run-seeds.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** From SEEDS and SEED; see vitest.config.ts. */
    simulation: { readonly seeds: number; readonly seed: number };
  }
}

const { seeds } = inject("simulation");

test(`every invariant holds in ${seeds} worlds`, async () => {
  const results = await runSeeds({ seeds: Array(seeds).keys() });

  const failed = results.find(({ violation }) => violation !== undefined);
  if (failed) expect.fail(describeResult(failed));
  expect(results).toHaveLength(seeds);
});

test.each([3, 4, 7])("the world of seed %i goes the same way each time, whatever its thread has lived through before", async (same) => {
  const [alone] = await runSeeds({ seeds: [same], keepsTrace: true });
  const results = await runSeeds({ seeds: [1, 2, same], keepsTrace: true });

  expect(alone?.trace.length).toBeGreaterThan(100);
  expect(results.at(-1)).toEqual(alone);
});
