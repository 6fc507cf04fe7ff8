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

// A world takes about a tenth of a second; a machine that does much else must not make the test fail.
test(`every invariant holds in ${seeds} worlds`, { timeout: Math.max(1_200_000, seeds * 1_000) }, async () => {
  const results = await runSeeds({ seeds: Array(seeds).keys(), stopsAtFirst: false });

  const failed = results.filter(({ violation }) => violation !== undefined);
  const [first, ...others] = failed;
  const also = others.map(({ seed, violation }) => `seed ${seed}: ${violation?.invariant}, ${violation?.problem}`);
  if (first) expect.fail([...also, describeResult(first)].join("\n"));
  expect(results).toHaveLength(seeds);
});

test.each([3, 4, 7])("the world of seed %i goes the same way each time, whatever its thread has lived through before", async (same) => {
  const [alone] = await runSeeds({ seeds: [same], keepsTrace: true });
  const results = await runSeeds({ seeds: [1, 2, same], keepsTrace: true });

  expect(alone?.trace.length).toBeGreaterThan(100);
  expect(results.at(-1)).toEqual(alone);
});

test("a world that goes wrong is told with its seed, what did not hold, the last events, and the command that replays it", () => {
  const trace = Array.from({ length: 100 }, (_, index) => `event ${index}`);
  const violation = { invariant: "I2", problem: "pod a has 2 live instances", atMs: 12_345 } as const;

  const told = describeResult({ seed: 348, kind: "burst", violation, restMs: 0, livedMs: 20_000, trace });

  expect(told).toContain("seed 348 (burst): I2, a pod has one live instance at most, and none after it was deleted: pod a has 2 live");
  expect(told).toContain("\n  event 99\n");
  expect(told).not.toContain("event 39\n");
  expect(told.split("\n").at(-1)).toBe("replay: SEED=348 npx vitest run --project simulation");
});
