import { expect, test } from "vitest";
import { ambiguous, namedBy } from "./expectations.ts";

const names = ["Job should delete a job", "Job should run", "CronJob should run"];

test("a part of a name means the tests that contain it", () => {
  expect(namedBy({ "Job should delete": "slow" }, names)).toEqual(["Job should delete a job"]);
});

test("a part that means no test, or several, is told", () => {
  expect(ambiguous({ "Job should delete": "", "Job should run": "", Pod: "" }, names)).toEqual(["Job should run", "Pod"]);
});
