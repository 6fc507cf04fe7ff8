import { expect, inject, test } from "vitest";
import { runSeeds } from "./run-seeds.ts";
import { describeResult } from "./simulate.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** From SEEDS and SEED; see vitest.config.ts. */
    simulation: { readonly seeds: number; readonly seed: number | undefined };
  }
}

const { seeds, seed } = inject("simulation");
const isReplay = seed !== undefined;

test.skipIf(isReplay)(`every invariant holds in ${seeds} worlds`, async () => {
  const results = await runSeeds({ seeds: Array(seeds).keys() });

  const failed = results.find(({ violation }) => violation !== undefined);
  expect(failed && describeResult(failed)).toBeUndefined();
  expect(results).toHaveLength(seeds);
});

test.skipIf(isReplay)("a world goes the same way each time", async () => {
  const [first] = await runSeeds({ seeds: [3], keepsTrace: true });
  const [second] = await runSeeds({ seeds: [3], keepsTrace: true });

  expect(first?.trace.length).toBeGreaterThan(100);
  expect(second).toEqual(first);
});

test.runIf(isReplay)(`the world of seed ${seed}`, async () => {
  const [result] = await runSeeds({ seeds: [seed ?? 0], keepsTrace: true });

  console.log(result?.trace.join("\n"));
  expect(result?.violation && describeResult(result)).toBeUndefined();
});
