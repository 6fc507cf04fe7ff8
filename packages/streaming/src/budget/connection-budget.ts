import type { BudgetShare } from "./shared-budget.ts";

/** Share of one connection in budgets of the whole process. */
export interface StreamingShare {
  /** Open SPDY streams. A stream beyond the budget is refused. Default: only the connection's own limit applies. */
  readonly streams?: BudgetShare | undefined;
  /** Bytes waiting for a reader. Connections of a caller that exceeds its share are read only while nothing waits in them. */
  readonly bytes: BudgetShare;
  /** Called with the limit's name when a stream is refused. */
  onLimit?(limit: "maxStreams" | "maxSharedStreams" | "maxSharedBytes"): void;
}

/** Bytes buffered in one connection, which also count against its caller's share. */
export class HeldBytes implements Disposable {
  readonly #max: number;
  readonly #share: BudgetShare | undefined;
  #held = 0;

  /** @param max - maximum bytes that the connection may buffer */
  constructor(max: number, share: BudgetShare | undefined) {
    this.#max = max;
    this.#share = share;
  }

  /** Whether the connection may be read. */
  get hasRoom(): boolean {
    if (this.#held > this.#max) return false;
    return this.#held === 0 || this.#share?.isOver !== true;
  }

  /** Changes the number of buffered bytes. */
  add(change: number): void {
    this.#held += change;
    this.#share?.add(change);
  }

  /** Releases the share when the connection is over; what is still buffered belongs to its reader. */
  [Symbol.dispose](): void {
    this.#share?.add(-this.#held);
    this.#held = 0;
  }
}
