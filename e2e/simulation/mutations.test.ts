import { describe, expect, test } from "vitest";
import { mutations } from "./mutations.ts";
import { runSeeds } from "./run-seeds.ts";

describe.each(Object.entries(mutations))("the bug: %s", (name, mutation) => {
  test("is found within 1,000 worlds", async () => {
    const { seed = 0 } = mutation;
    const results = await runSeeds({ seeds: [seed, ...Array(1000).keys()], mutation: name });

    const found = results.find(({ violation }) => violation !== undefined);
    console.log(`${name}: found in world ${found?.seed} (${found?.kind}): ${found?.violation?.invariant}, ${found?.violation?.problem}`);
    expect(found?.violation).toBeDefined();
  });
});
