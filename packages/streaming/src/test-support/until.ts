import { performance } from "node:perf_hooks";
import { setImmediate, setTimeout } from "node:timers/promises";

/** How long something may take that happens beside the event loop, as zlib's work does: on a busy machine, a while. */
const patienceMs = 100_000;

/** After so many turns what is waited for happens beside the event loop, and needs the processor more than it does. */
const busyTurns = 1_000;

/** Waits, one turn of the event loop after the other, until the condition holds. */
export async function until(condition: () => boolean, what = "the condition"): Promise<void> {
  const beganMs = performance.now();
  for (let turn = 0; performance.now() - beganMs < patienceMs; turn++) {
    if (condition()) return;
    await (turn < busyTurns ? setImmediate() : setTimeout(1));
  }
  throw new Error(`${what} does not come true`);
}

/** Lets everything that can happen without time happen. */
export async function quiet(turns = 50): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await setImmediate();
}
