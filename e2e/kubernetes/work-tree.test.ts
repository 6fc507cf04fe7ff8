import { expect, test } from "vitest";
import { trialOf } from "./trials.ts";
import { whyNotRecorded } from "./work-tree.ts";

const clean = { commit: "0123456789abcdef0123456789abcdef01234567", changes: "" };
const trial = trialOf("docker");
const whole = { groups: trial.groups.length, policies: trial.policies.length, isChosen: false };

test("only a run of all groups under all policies on an unchanged commit is recorded", () => {
  expect(whyNotRecorded(clean, trial, whole)).toBeUndefined();
  expect(whyNotRecorded({ ...clean, changes: " M a\n?? b" }, trial, whole)).toBe(
    "the work tree is not 0123456789ab: 2 files differ (git status)",
  );
  expect(whyNotRecorded(clean, trial, { ...whole, groups: 1 })).toBe("it does not have all groups");
  expect(whyNotRecorded(clean, trial, { ...whole, groups: trial.groups.length, isChosen: true })).toBe("it does not have all groups");
  expect(whyNotRecorded(clean, trial, { ...whole, policies: 1 })).toBe("it does not have all policies");
});
