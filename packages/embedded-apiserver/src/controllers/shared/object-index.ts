import type { Cluster } from "../../rest/cluster.ts";
import type { ApiObject, Kind } from "../../kinds/kind.ts";
import { keyOf } from "./object-key.ts";

/** Index of the objects of one kind by values such as their owner or node, updated on every change. */
export class ObjectIndex implements Disposable {
  readonly #valuesOf: (object: Readonly<ApiObject>) => readonly string[];
  readonly #buckets = new Map<string, Map<string, Readonly<ApiObject>>>();
  readonly #valuesByKey = new Map<string, readonly string[]>();
  readonly #watch: Disposable;

  /** @param valuesOf - index values of an object */
  constructor(cluster: Cluster, kind: Kind, valuesOf: (object: Readonly<ApiObject>) => readonly string[]) {
    this.#valuesOf = valuesOf;
    this.#watch = cluster.watch(kind, ({ type, object }) => (type === "DELETED" ? this.#remove(keyOf(object)) : this.#put(object)));
    for (const object of cluster.list(kind)) this.#put(object);
  }

  /** Objects with this index value. */
  get(value: string): Readonly<ApiObject>[] {
    return [...(this.#buckets.get(value)?.values() ?? [])];
  }

  /** Whether an object has this index value. */
  has(value: string): boolean {
    return this.#buckets.has(value);
  }

  /** All index values that have objects. */
  values(): string[] {
    return [...this.#buckets.keys()];
  }

  [Symbol.dispose](): void {
    this.#watch[Symbol.dispose]();
  }

  #put(object: Readonly<ApiObject>): void {
    const key = keyOf(object);
    const values = this.#valuesOf(object);
    for (const value of this.#valuesByKey.get(key) ?? []) if (!values.includes(value)) this.#take(value, key);
    this.#valuesByKey.set(key, values);
    for (const value of values) {
      let bucket = this.#buckets.get(value);
      if (bucket === undefined) this.#buckets.set(value, (bucket = new Map()));
      bucket.set(key, object);
    }
  }

  #remove(key: string): void {
    for (const value of this.#valuesByKey.get(key) ?? []) this.#take(value, key);
    this.#valuesByKey.delete(key);
  }

  #take(value: string, key: string): void {
    const bucket = this.#buckets.get(value);
    bucket?.delete(key);
    if (bucket?.size === 0) this.#buckets.delete(value);
  }
}
