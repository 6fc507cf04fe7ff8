import { performance } from "node:perf_hooks";
import { setImmediate, setTimeout } from "node:timers/promises";

/** Time limit for work outside the event loop, such as zlib's. It can take long on a busy machine. */
const patienceMs = 100_000;

/** After this many turns, the awaited work is assumed to run outside the event loop and to need the processor. */
const busyTurns = 1_000;

/** Waits until the condition holds, checking it at each turn of the event loop. */
export async function until(condition: () => boolean, what = "the condition"): Promise<void> {
  const beganMs = performance.now();
  for (let turn = 0; performance.now() - beganMs < patienceMs; turn++) {
    if (condition()) return;
    await (turn < busyTurns ? setImmediate() : setTimeout(1));
  }
  throw new Error(`${what} does not come true`);
}

/** Runs everything that can run without the passing of time. */
export async function quiet(turns = 50): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await setImmediate();
}
