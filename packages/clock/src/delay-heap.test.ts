import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { byDueTime, DelayHeap, type Delayed } from "./delay-heap.ts";

class Item implements Delayed {
  dueMs: number;
  readonly order: number;
  heapIndex = -1;

  constructor(dueMs: number, order: number) {
    this.dueMs = dueMs;
    this.order = order;
  }
}

describe("DelayHeap", () => {
  test("gives those due first first, and of those due at one time the lower order", () => {
    const heap = heapOf([30, 10, 20, 10, 20, 5]);

    expect(drain(heap)).toEqual(["5 #5", "10 #1", "10 #3", "20 #2", "20 #4", "30 #0"]);
  });

  test("keeps what it gives until it is deleted", () => {
    const heap = heapOf([10, 20]);

    expect(heap.peek()).toBe(heap.peek());
    expect(heap.size).toBe(2);
  });

  test("is empty before anything is added, and after all is deleted", () => {
    const heap = heapOf([]);
    expect(heap.peek()).toBeUndefined();
    expect(heap.size).toBe(0);
    const item = new Item(10, 0);

    heap.set(item);
    heap.delete(item);

    expect(heap.peek()).toBeUndefined();
    expect(heap.size).toBe(0);
    expect(item.heapIndex).toBe(-1);
  });

  test("ignores the deletion of an item that is not in it, and an item that was deleted can come back", () => {
    const heap = heapOf([10]);
    const item = new Item(5, 1);

    heap.delete(item);
    expect(heap.size).toBe(1);
    heap.set(item);
    heap.delete(item);
    heap.set(item);

    expect(drain(heap)).toEqual(["5 #1", "10 #0"]);
  });

  test("gives what a sorted list would, whatever is added, moved and deleted", () => {
    const action = fc.record({ which: fc.nat(19), dueMs: fc.nat(30), kind: fc.constantFrom("set", "set", "set", "delete") });

    fc.assert(
      fc.property(fc.array(action, { maxLength: 120 }), (actions) => {
        const heap = new DelayHeap<Item>();
        const items = Array.from({ length: 20 }, (_, order) => new Item(0, order));
        const held = new Set<Item>();
        for (const { which, dueMs, kind } of actions) {
          const item = items[which];
          if (!item) continue;
          if (kind === "set") {
            item.dueMs = dueMs;
            heap.set(item);
            held.add(item);
          } else {
            heap.delete(item);
            held.delete(item);
          }
          expect(heap.size).toBe(held.size);
          expect(heap.peek()).toBe([...held].toSorted(byDueTime)[0]);
        }
        expect(drain(heap)).toEqual([...held].toSorted(byDueTime).map(nameOf));
      }),
    );
  });
});

test("byDueTime sorts by due time, then by order", () => {
  const items = [new Item(2, 0), new Item(1, 5), new Item(1, 3)];

  expect(items.toSorted(byDueTime).map(nameOf)).toEqual(["1 #3", "1 #5", "2 #0"]);
});

function heapOf(dueTimes: readonly number[]): DelayHeap<Item> {
  const heap = new DelayHeap<Item>();
  for (const [order, dueMs] of dueTimes.entries()) heap.set(new Item(dueMs, order));
  return heap;
}

function drain(heap: DelayHeap<Item>): string[] {
  const names: string[] = [];
  for (let first = heap.peek(); first; first = heap.peek()) {
    names.push(nameOf(first));
    heap.delete(first);
  }
  return names;
}

function nameOf({ dueMs, order }: Item): string {
  return `${dueMs} #${order}`;
}
