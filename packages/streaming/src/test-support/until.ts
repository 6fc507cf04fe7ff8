import { setImmediate } from "node:timers/promises";

/** Waits, one turn of the event loop after the other, until the condition holds. */
export async function until(condition: () => boolean, what = "the condition"): Promise<void> {
  for (let turn = 0; turn < 20_000; turn++) {
    if (condition()) return;
    await setImmediate();
  }
  throw new Error(`${what} does not come true`);
}

/** Lets everything that can happen without time happen. */
export async function quiet(turns = 50): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await setImmediate();
}
