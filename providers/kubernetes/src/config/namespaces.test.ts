import { expect, test } from "vitest";
import { namespacesSchema } from "./namespaces.ts";

test("an unknown mode is answered with the known ones", () => {
  const issues = namespacesSchema.safeParse({ mode: "two" }).error?.issues;

  expect(issues).toMatchObject([{ path: ["mode"], message: "expected one, same or prefix" }]);
});

test("a misspelt key of a known mode is named", () => {
  const issues = namespacesSchema.safeParse({ mode: "one", nam: "x" }).error?.issues;

  expect(issues).toMatchObject([{ code: "unrecognized_keys", keys: ["nam"] }]);
});

test("a wrong value within a known mode is said to be wrong", () => {
  const issues = namespacesSchema.safeParse({ mode: "one", name: "Team_A" }).error?.issues;

  expect(issues).toMatchObject([{ path: ["name"], message: "expected a namespace of Kubernetes, such as team-a" }]);
});
