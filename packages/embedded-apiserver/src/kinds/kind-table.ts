import type { Kind } from "./kind.ts";

/** A kind was added to or removed from the server. */
export interface KindChange {
  readonly type: "ADDED" | "REMOVED";
  readonly kind: Kind;
}

/** Kinds of a server: the built-in ones, and those of custom resources, which come and go. */
export class KindTable {
  readonly #kinds: Kind[];
  readonly #listeners = new Set<(change: KindChange) => void>();

  constructor(kinds: readonly Kind[]) {
    this.#kinds = [...kinds];
  }

  /** All kinds. Always the same array, modified in place. */
  get all(): readonly Kind[] {
    return this.#kinds;
  }

  add(kind: Kind): void {
    this.#kinds.push(kind);
    for (const listener of this.#listeners) listener({ type: "ADDED", kind });
  }

  remove(kind: Kind): void {
    const index = this.#kinds.indexOf(kind);
    if (index < 0) return;
    this.#kinds.splice(index, 1);
    for (const listener of this.#listeners) listener({ type: "REMOVED", kind });
  }

  /** Calls the listener after every later change. */
  watch(listener: (change: KindChange) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }
}
