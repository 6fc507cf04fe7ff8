import type { BudgetShare } from "./shared-budget.ts";

/** What a connection may take, besides its own limits, of what a process has for all of them. */
export interface StreamingShare {
  /** SPDY streams that are open. One that finds no room is refused. Default: only the connection's own limit counts. */
  readonly streams?: BudgetShare | undefined;
  /** Bytes that wait for a reader. A connection of a caller that holds too many is read only while nothing waits in it. */
  readonly bytes: BudgetShare;
  /** Called with the limit's name when a stream is refused. */
  onLimit?(limit: "maxStreams" | "maxSharedStreams" | "maxSharedBytes"): void;
}

/** Bytes that wait in one connection, which count for its caller, too. */
export class HeldBytes implements Disposable {
  readonly #max: number;
  readonly #share: BudgetShare | undefined;
  #held = 0;

  /** @param max - bytes that the connection may hold by itself */
  constructor(max: number, share: BudgetShare | undefined) {
    this.#max = max;
    this.#share = share;
  }

  /** Whether the connection may be read on. */
  get hasRoom(): boolean {
    if (this.#held > this.#max) return false;
    return this.#held === 0 || this.#share?.isOver !== true;
  }

  /** So many bytes wait more, or less. */
  add(change: number): void {
    this.#held += change;
    this.#share?.add(change);
  }

  /** The connection is over: what waits in it is its reader's, and counts no more. */
  [Symbol.dispose](): void {
    this.#share?.add(-this.#held);
    this.#held = 0;
  }
}
