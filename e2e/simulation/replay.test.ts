import { expect, inject, test } from "vitest";
import { describeResult } from "./describe-result.ts";
import { runSeeds } from "./run-seeds.ts";

const { seed } = inject("simulation");

test(`the world of seed ${seed}`, async () => {
  const [result] = await runSeeds({ seeds: [seed], keepsTrace: true });

  console.log(result?.trace.join("\n"));
  if (result?.violation) expect.fail(describeResult(result));
});
