import { byCodeUnits } from "../json/key-order.ts";
/** The sorted names of a map's entries. Sorting again after few changes is cheap. */
export class SortedNames {
  /** In order at the last call of {@link SortedNames.of}; may have names that are no longer there. */
  #names: string[] = [];
  #added: string[] = [];

  /** @param names - names at the start, in any order */
  constructor(names: Iterable<string>) {
    this.#added = [...names];
  }

  /** Adds a name. Names that are removed from the map need not be removed here. */
  add(name: string): void {
    this.#added.push(name);
  }

  /** Values of the map in the order of their names. All names of the map must have been added. */
  of<Value>(map: ReadonlyMap<string, Value>): Value[] {
    if (this.#added.length > 0) {
      // Mostly in order already, which the sort makes use of.
      this.#names = [...this.#names, ...this.#added].toSorted(byCodeUnits);
      this.#added = [];
    }
    const values: Value[] = [];
    const names: string[] = [];
    let last: string | undefined;
    for (const name of this.#names) {
      const value = map.get(name);
      if (value === undefined || name === last) continue;
      values.push(value);
      names.push((last = name));
    }
    this.#names = names;
    return values;
  }
}
