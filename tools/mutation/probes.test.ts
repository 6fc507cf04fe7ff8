import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { findMutants } from "./mutants.ts";
import { addProbes, reachedName } from "./probes.ts";

/** Regions of the text that run. */
function reached(text: string): string[] {
  const regions = new Set<string>();
  runInNewContext(addProbes("x", text, findMutants("x.ts", text).regions), { [reachedName]: regions });
  return [...regions];
}

test("a module is reached when it is imported, and a function when it is called", () => {
  expect(reached("function f() { } function g() { } g();")).toEqual(["x#0", "x#2"]);
});

test("a block is reached when its branch is taken", () => {
  expect(reached("if (1 > 2) { } else { }")).toEqual(["x#0", "x#2"]);
});

test("arrow functions without braces are reached and return what they did, also one in another", () => {
  expect(reached("const f = (a) => (b) => ({ sum: a + b }); if (f(1)(2).sum !== 3) throw 0;")).toEqual(["x#0", "x#1", "x#2"]);
});
