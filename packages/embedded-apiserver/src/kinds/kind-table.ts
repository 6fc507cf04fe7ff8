import type { Kind } from "./kind.ts";

/** A change of the kinds there are. */
export interface KindChange {
  readonly type: "ADDED" | "REMOVED";
  readonly kind: Kind;
}

/** The kinds a server has: those it is built with, and those of custom resources, which come and go. */
export class KindTable {
  readonly #kinds: Kind[];
  readonly #listeners = new Set<(change: KindChange) => void>();

  constructor(kinds: readonly Kind[]) {
    this.#kinds = [...kinds];
  }

  /** All kinds; the same array for as long as the server lives, changed in place. */
  get all(): readonly Kind[] {
    return this.#kinds;
  }

  /** Adds a kind. */
  add(kind: Kind): void {
    this.#kinds.push(kind);
    for (const listener of this.#listeners) listener({ type: "ADDED", kind });
  }

  /** Takes a kind away. */
  remove(kind: Kind): void {
    const index = this.#kinds.indexOf(kind);
    if (index < 0) return;
    this.#kinds.splice(index, 1);
    for (const listener of this.#listeners) listener({ type: "REMOVED", kind });
  }

  /** Calls back on every later change. */
  watch(listener: (change: KindChange) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }
}
