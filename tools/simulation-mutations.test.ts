import { expect, test } from "vitest";
import { mutatedSource, urlOf, type Mutation } from "../e2e/simulation/mutate.ts";
import { mutations } from "../e2e/simulation/mutations.ts";

// The simulation, which finds these bugs, is not among the quick levels. A change of the code that a mutation edits is noticed here.
test.for(Object.entries(mutations))("the bug can be put back for the simulation: %s", ([, mutation]) => {
  for (const { file, replace } of mutation.edits) expect(mutatedSource(mutation, urlOf(file))).toContain(replace);
});

test("a mutation whose piece of source was changed is refused with its file and the piece", () => {
  const file = "e2e/simulation/mutate.ts";
  const moved: Mutation = { about: "a test", edits: [{ file, find: ["a piece", "of no source"].join(" "), replace: "" }] };

  expect(() => mutatedSource(moved, urlOf(file))).toThrow(`${file} holds 0 times, not once: a piece of no source`);
});
