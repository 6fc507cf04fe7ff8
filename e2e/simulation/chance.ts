import { SeededRandom } from "@virtual-kubelet/clock";

/** Source of randomness of a simulation. Each part has its own source, so an additional draw in one part does not affect the others. */
export class Chance extends SeededRandom {
  /** @param part - whose it is; two parts of one seed draw differently */
  constructor(seed: number, part: string) {
    let mixed = Math.imul(seed + 1, 0x9e3779b1);
    for (const letter of part) mixed = Math.imul(mixed ^ letter.charCodeAt(0), 0x85ebca6b) + 1;
    super(mixed);
  }

  /** Whether something happens that does so with this probability. */
  happens(probability: number): boolean {
    return this.next() < probability;
  }

  /** A number between the two. */
  between(low: number, high: number): number {
    return low + (high - low) * this.next();
  }

  /** A whole number from `low` to `high`, both included. */
  whole(low: number, high: number): number {
    return low + Math.floor((high - low + 1) * this.next());
  }

  /** One of them. @throws Error if there is none */
  pick<T>(items: readonly T[]): T {
    const item = items[this.whole(0, items.length - 1)];
    if (item === undefined) throw new Error("pick one of none");
    return item;
  }

  /** The key of a table of weights. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K {
    const entries = Object.entries(weights) as [K, number][];
    let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [key, weight] of entries) if ((left -= weight) < 0) return key;
    throw new Error("pick by weight among none");
  }
}
