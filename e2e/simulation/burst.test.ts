import { expect, test } from "vitest";
import { burst, burstBoundMs, burstSize } from "./burst.ts";
import { World } from "./world.ts";

test.each([1, 2, 3, 4])(
  `${burstSize} pods at once are all Running within ${burstBoundMs / 1000} virtual seconds where the provider takes none (seed %i)`,
  async (seed) => {
    await using world = await World.create(seed, { kind: "burst" });
    world.start();

    const tookMs = await burst(world);

    console.log(`all Running after ${tookMs} ms, with ${world.profile.network.latencyMs} ms each way`);
    expect(tookMs).toBeLessThanOrEqual(burstBoundMs);
    expect(world.backEnd.list()).toHaveLength(burstSize);
    expect(world.invariants.violation).toBeUndefined();
  },
);
