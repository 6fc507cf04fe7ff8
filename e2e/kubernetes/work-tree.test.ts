import { expect, test } from "vitest";
import { nodePolicies } from "./node-policies.ts";
import { specGroups } from "./spec-groups.ts";
import { whyNotRecorded } from "./work-tree.ts";

const clean = { commit: "0123456789abcdef0123456789abcdef01234567", changes: "" };
const whole = { groups: specGroups.length, policies: nodePolicies.length, isChosen: false };

test("only a run of all groups under all policies on an unchanged commit is recorded", () => {
  expect(whyNotRecorded(clean, whole)).toBeUndefined();
  expect(whyNotRecorded({ ...clean, changes: " M a\n?? b" }, whole)).toBe("the work tree is not 0123456789ab: 2 files differ (git status)");
  expect(whyNotRecorded(clean, { ...whole, groups: 1 })).toBe("it does not have all groups");
  expect(whyNotRecorded(clean, { ...whole, groups: specGroups.length, isChosen: true })).toBe("it does not have all groups");
  expect(whyNotRecorded(clean, { ...whole, policies: 1 })).toBe("it does not have all policies");
});
