import { expect, test } from "vitest";
import { owner } from "../test-support/pods.ts";
import { familyOf } from "./definition-family.ts";

const definition = { cpu: "256", memory: "512", containerDefinitions: [{ name: "a", image: "i" }] };

test("the order of keys does not matter, that of containers does", () => {
  const reordered = { containerDefinitions: [{ image: "i", name: "a" }], memory: "512", cpu: "256" };
  const two = [...definition.containerDefinitions, { name: "b", image: "i" }];

  expect(familyOf(reordered, owner)).toBe(familyOf(definition, owner));
  expect(familyOf({ ...definition, containerDefinitions: two }, owner)).not.toBe(
    familyOf({ ...definition, containerDefinitions: two.toReversed() }, owner),
  );
});

test("each node has families of its own, so that none removes another's", () => {
  expect(familyOf(definition, { ...owner, nodeName: "other" })).not.toBe(familyOf(definition, owner));
});
