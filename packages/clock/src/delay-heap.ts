/** An item of a {@link DelayHeap}. The heap keeps its own place in it; nobody else touches `heapIndex`. */
export interface Delayed {
  /** Monotonic milliseconds. */
  dueMs: number;
  /** Breaks ties: of those due at one time, the lower comes first. */
  order: number;
  /** Where the item is in the heap; -1 while it is not in it. */
  heapIndex: number;
}

/** Sorts by due time, then by order. */
export function byDueTime(a: Delayed, b: Delayed): number {
  return a.dueMs - b.dueMs || a.order - b.order;
}

/** Items by due time: the earliest is had at once, adding and removing any cost O(log n). */
export class DelayHeap<T extends Delayed> {
  readonly #items: T[] = [];

  /** Number of items. */
  get size(): number {
    return this.#items.length;
  }

  /** The item due first, which stays in the heap. */
  peek(): T | undefined {
    return this.#items[0];
  }

  /** Adds the item, or moves it to its new place after `dueMs` changed. */
  set(item: T): void {
    if (item.heapIndex < 0) {
      item.heapIndex = this.#items.length;
      this.#items.push(item);
    }
    this.#settle(item);
  }

  /** Takes the item out; one that is not in it is ignored. */
  delete(item: T): void {
    const index = item.heapIndex;
    if (index < 0) return;
    item.heapIndex = -1;
    const last = this.#items.pop();
    if (last === undefined || last === item) return;
    this.#items[index] = last;
    last.heapIndex = index;
    this.#settle(last);
  }

  #settle(item: T): void {
    for (let parent = this.#parent(item); parent && byDueTime(item, parent) < 0; parent = this.#parent(item)) this.#swap(item, parent);
    for (let child = this.#child(item); child && byDueTime(child, item) < 0; child = this.#child(item)) this.#swap(item, child);
  }

  #parent(item: T): T | undefined {
    return item.heapIndex === 0 ? undefined : this.#items[(item.heapIndex - 1) >> 1];
  }

  /** The earlier of the two children. */
  #child(item: T): T | undefined {
    const left = this.#items[2 * item.heapIndex + 1];
    const right = this.#items[2 * item.heapIndex + 2];
    return left && right && byDueTime(right, left) < 0 ? right : left;
  }

  #swap(a: T, b: T): void {
    const index = a.heapIndex;
    a.heapIndex = b.heapIndex;
    b.heapIndex = index;
    this.#items[a.heapIndex] = a;
    this.#items[b.heapIndex] = b;
  }
}
