import { performance } from "node:perf_hooks";
import { setImmediate } from "node:timers/promises";

/** How long something may take that happens beside the event loop, as zlib's work does: on a busy machine, seconds. */
const patienceMs = 30_000;

/** Waits, one turn of the event loop after the other, until the condition holds. */
export async function until(condition: () => boolean, what = "the condition"): Promise<void> {
  for (const beganMs = performance.now(); performance.now() - beganMs < patienceMs;) {
    if (condition()) return;
    await setImmediate();
  }
  throw new Error(`${what} does not come true`);
}

/** Lets everything that can happen without time happen. */
export async function quiet(turns = 50): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await setImmediate();
}
