import fc from "fast-check";
import { expect, test } from "vitest";
import { SortedNames } from "./sorted-names.ts";

const names = ["a", "b", "c", "d"];

test("the values are always those of the map, in the order of the names", () => {
  const steps = fc.array(fc.record({ kind: fc.constantFrom("add", "remove", "list"), name: fc.constantFrom(...names) }), { maxLength: 40 });
  fc.assert(
    fc.property(steps, (all) => {
      const map = new Map<string, string>([["b", "b"]]);
      const sorted = new SortedNames(map.keys());
      for (const { kind, name } of all) {
        if (kind === "add" && !map.has(name)) {
          map.set(name, name);
          sorted.add(name);
        } else if (kind === "remove") map.delete(name);
        else if (kind === "list") expect(sorted.of(map)).toEqual([...map.keys()].toSorted());
      }
      expect(sorted.of(map)).toEqual([...map.keys()].toSorted());
    }),
  );
});
