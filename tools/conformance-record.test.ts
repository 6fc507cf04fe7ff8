import {
  featureNames,
  features,
  notChosen,
  type CheckReport,
  type ConformanceReport,
  type FeatureReport,
} from "@virtual-kubelet/testing/conformance";
import { describe, expect, test } from "vitest";
import { parseRecord, renderRecord, updateRecord } from "./conformance-record.ts";

const passedCheck: CheckReport = { name: "it is so", state: "passed" };
const skippedCheck: CheckReport = { name: "it is rarely so", state: "not-run", reason: "no such hardware" };

/** A report in which `logs` went like this, and all else passed. */
function reportWith(logs: Partial<FeatureReport>, against?: string): ConformanceReport {
  const entries = featureNames.map((feature) => [
    feature,
    { about: features[feature], state: "passed", required: false, checks: [passedCheck], ...(feature === "logs" && logs) },
  ]);
  return { provider: "mine", against, features: Object.fromEntries(entries) as ConformanceReport["features"] };
}

const passed = updateRecord(undefined, reportWith({ required: true }));

describe("updateRecord", () => {
  test("a first run says all there is", () => {
    expect(updateRecord(undefined, reportWith({ required: true, checks: [passedCheck, skippedCheck] }, "an engine"))).toMatchObject({
      against: "an engine",
      features: {
        logs: { state: "passed", required: true, untried: { "it is rarely so": "no such hardware" } },
        exec: { state: "passed" },
      },
    });
  });

  test("what this machine cannot try takes nothing back", () => {
    const here = reportWith({ required: true, state: "not-run", reason: "an older engine", checks: [] });

    expect(updateRecord(passed, here).features.logs).toEqual({ state: "passed", required: true });
    expect(updateRecord(undefined, here).features.logs).toEqual({ state: "not-run", required: true, reason: "an older engine" });
  });

  test("a check that was tried elsewhere counts as tried", () => {
    expect(updateRecord(passed, reportWith({ required: true, checks: [passedCheck, skippedCheck] }))).toEqual(passed);
  });

  test("a run of some tests only says nothing of a feature that it has not tried whole", () => {
    const partly = reportWith({ required: true, checks: [passedCheck, { name: "another", state: "not-run", reason: notChosen }] });

    expect(updateRecord(passed, partly)).toEqual(passed);
    expect(updateRecord(undefined, partly).features).not.toHaveProperty("logs");
  });

  test("a feature that is gone is lacking, whatever was known before", () => {
    expect(updateRecord(passed, reportWith({ state: "lacking", reason: "no method", checks: [] })).features.logs).toEqual({
      state: "lacking",
      reason: "no method",
    });
  });

  test("a failure changes nothing, and makes no claim where nothing was known", () => {
    const failed = reportWith({ required: true, state: "failed", checks: [{ name: "it is so", state: "failed", reason: "it is not" }] });

    expect(updateRecord(passed, failed)).toEqual(passed);
    expect(updateRecord(undefined, failed).features).not.toHaveProperty("logs");
  });

  test("a feature of which nothing could be tried is not run, with the reasons of its checks", () => {
    expect(updateRecord(undefined, reportWith({ state: "not-run", checks: [skippedCheck] })).features.logs).toEqual({
      state: "not-run",
      reason: "no such hardware",
    });
  });
});

test("what was written can be read", () => {
  expect(parseRecord(renderRecord(passed), "conformance.json")).toEqual(passed);
});

test("a file that is no record is told in one line", () => {
  expect(() => parseRecord('{"features":{"logs":{"state":"maybe"}}}', "providers/mine/conformance.json")).toThrow(
    /^providers\/mine\/conformance\.json: features\.logs\.state: [^\n]+; delete it and run `make generate`$/,
  );
});
