import type { Clock } from "@virtual-kubelet/clock";

/** Default of {@link InTurnsOptions.perTurn}. */
const defaultPerTurn = 500;

/** Options of {@link inTurns}. */
export interface InTurnsOptions {
  /** Number of items of one turn. Default: 500. */
  readonly perTurn?: number | undefined;
  readonly clock: Pick<Clock, "sleep">;
  /** Ends the work before the next turn. */
  readonly signal: AbortSignal;
}

/**
 * Calls `handle` for each item in order, and lets the event loop turn after every {@link InTurnsOptions.perTurn} items, so that long work
 * does not delay everything else. The first items are handled before it returns.
 *
 * @throws `signal.reason` when aborted between two turns; what `handle` throws
 */
export async function inTurns<T>(
  items: Iterable<T>,
  { perTurn = defaultPerTurn, clock, signal }: InTurnsOptions,
  handle: (item: T) => void,
): Promise<void> {
  let inThisTurn = 0;
  for (const item of items) {
    if (inThisTurn === perTurn) {
      await clock.sleep(0, signal);
      inThisTurn = 0;
    }
    inThisTurn++;
    handle(item);
  }
}
