import { expect, test } from "vitest";
import { findMutants } from "./mutants.ts";
import { identityOf, takeSample } from "./sample.ts";

const one = findMutants("one.ts", "function f(a) { g(a + 1); if (a > 2) h(a); return a; }").mutants;
const two = findMutants("two.ts", "function f(a) { return a === 1 || a === 2; }").mutants;

test("the same seed chooses the same mutants, another seed others", () => {
  expect(takeSample(one, 4, 1)).toEqual(takeSample(one.toReversed(), 4, 1));
  expect(takeSample(one, 4, 1)).not.toEqual(takeSample(one, 4, 2));
});

test("a sample greater than all there is has each once", () => {
  expect(takeSample(two, 1000, 1).map(identityOf).sort()).toEqual(two.map(identityOf).sort());
});

test("mutants of another file change no one's rank", () => {
  const ranked = takeSample([...one, ...two], 1000, 1).filter(({ file }) => file === "one.ts");
  expect(ranked).toEqual(takeSample(one, 1000, 1));
});

test("lines that are added above leave the identity as it is", () => {
  const moved = findMutants("two.ts", "\n// more\n\nfunction f(a) { return a === 1 || a === 2; }").mutants;
  expect(moved.map(identityOf)).toEqual(two.map(identityOf));
});
