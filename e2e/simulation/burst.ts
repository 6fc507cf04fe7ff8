import { createPods } from "./actions.ts";
import type { World } from "./world.ts";

/** How many pods come at once. */
export const burstSize = 500;

/** Within how long all of them have to run where the provider takes no time, in milliseconds. */
export const burstBoundMs = 5_000;

/** How often it is looked how many run, in milliseconds. */
const lookMs = 100;

/**
 * Creates 500 pods at once in a world without faults.
 *
 * @returns after how long all were Running, in milliseconds; `undefined` if they were not within the bound
 */
export async function burst(world: World): Promise<number | undefined> {
  const { clock, trace, invariants } = world;
  await world.pass(30_000);
  const startMs = clock.monotonic();
  trace.add("user: creates", burstSize, "pods");
  await createPods(world, burstSize);
  for (;;) {
    const running = world.pods.filter(({ status }) => status?.phase === "Running").length;
    const tookMs = clock.monotonic() - startMs;
    if (running >= burstSize) return tookMs;
    if (tookMs >= burstBoundMs) {
      invariants.report("I5", `of ${burstSize} pods ${running} were Running after ${burstBoundMs / 1000} s`);
      return undefined;
    }
    await world.pass(lookMs);
  }
}
