import {
  featureNames,
  features,
  notChosen,
  type CheckReport,
  type ConformanceReport,
  type FeatureReport,
} from "@virtual-kubelet/testing/conformance";
import { describe, expect, test } from "vitest";
import { parseRecord, renderRecord, sameFindings, updateRecord } from "./conformance-record.ts";

const passedCheck: CheckReport = { name: "it is so", state: "passed" };
const skippedCheck: CheckReport = { name: "it is rarely so", state: "not-run", reason: "no such hardware" };

const own = { kind: "own", name: "the provider itself" } as const;
const engine = (version: string): ConformanceReport["against"] => ({ kind: "real", name: "an engine", version });

/** A report in which `logs` went like this, and all else passed. */
function reportWith(
  logs: Partial<FeatureReport>,
  { against = own, date = "2026-01-01" }: Partial<ConformanceReport> = {},
): ConformanceReport {
  const entries = featureNames.map((feature) => [
    feature,
    { about: features[feature], state: "passed", required: false, checks: [passedCheck], ...(feature === "logs" && logs) },
  ]);
  return { provider: "mine", against, date, features: Object.fromEntries(entries) as ConformanceReport["features"] };
}

const passed = updateRecord(undefined, reportWith({ required: true }));

describe("updateRecord", () => {
  test("a first run says all there is", () => {
    expect(
      updateRecord(undefined, reportWith({ required: true, checks: [passedCheck, skippedCheck] }, { against: engine("2.1") })),
    ).toMatchObject({
      real: {
        backEnd: "an engine",
        version: "2.1",
        date: "2026-01-01",
        features: {
          logs: { state: "passed", required: true, checks: ["it is so"], untried: { "it is rarely so": "no such hardware" } },
          exec: { state: "passed", checks: ["it is so"] },
        },
      },
    });
  });

  test("what this machine cannot try takes nothing back", () => {
    const here = reportWith({ required: true, state: "not-run", reason: "an older engine", checks: [] });

    expect(updateRecord(passed, here).own?.features.logs).toEqual({ state: "passed", required: true, checks: ["it is so"] });
    expect(updateRecord(undefined, here).own?.features.logs).toEqual({ state: "not-run", required: true, reason: "an older engine" });
  });

  test("a check that was tried elsewhere counts as tried, and one that the suite has only now does not", () => {
    const elsewhere = updateRecord(
      undefined,
      reportWith({ required: true, checks: [passedCheck, { name: skippedCheck.name, state: "passed" }] }),
    );
    const here = reportWith({ required: true, checks: [passedCheck, skippedCheck] });

    expect(updateRecord(elsewhere, here)).toEqual(elsewhere);
    expect(updateRecord(passed, here).own?.features.logs).toEqual({
      state: "passed",
      required: true,
      checks: ["it is so"],
      untried: { "it is rarely so": "no such hardware" },
    });
  });

  test("a check that the suite has no more is forgotten", () => {
    const later = reportWith({ required: true, checks: [{ name: "it is otherwise", state: "passed" }] });

    expect(updateRecord(passed, later).own?.features.logs?.checks).toEqual(["it is otherwise"]);
  });

  test("a run of some tests only says nothing of a feature that it has not tried whole", () => {
    const partly = reportWith({ required: true, checks: [passedCheck, { name: "another", state: "not-run", reason: notChosen }] });

    expect(updateRecord(passed, partly)).toEqual(passed);
    expect(updateRecord(undefined, partly).own?.features).not.toHaveProperty("logs");
  });

  test("a feature that is gone is lacking, whatever was known before", () => {
    expect(updateRecord(passed, reportWith({ state: "lacking", reason: "no method", checks: [] })).own?.features.logs).toEqual({
      state: "lacking",
      reason: "no method",
    });
  });

  test("a failure changes nothing, and makes no claim where nothing was known", () => {
    const failed = reportWith({ required: true, state: "failed", checks: [{ name: "it is so", state: "failed", reason: "it is not" }] });

    expect(updateRecord(passed, failed)).toEqual(passed);
    expect(updateRecord(undefined, failed).own?.features).not.toHaveProperty("logs");
  });

  test("what the last run could not try is known from an earlier one, which is named", () => {
    const first = updateRecord(undefined, reportWith({}, { against: engine("1.0") }));
    const untried = { state: "not-run", reason: "an older engine", checks: [] } as const;
    const second = updateRecord(first, reportWith(untried, { against: engine("0.9"), date: "2026-02-02" }));
    const third = updateRecord(second, reportWith(untried, { against: engine("0.8"), date: "2026-03-03" }));

    for (const record of [second, third])
      expect(record.real?.features.logs).toEqual({
        state: "passed",
        checks: ["it is so"],
        earlier: { version: "1.0", date: "2026-01-01" },
      });
    expect(third.real).toMatchObject({ version: "0.8", date: "2026-03-03", features: { exec: { state: "passed" } } });
    expect(third.real?.features.exec).not.toHaveProperty("earlier");
  });

  test("a result on another back end of the provider names that back end", () => {
    const first = updateRecord(undefined, reportWith({}, { against: { ...engine("1.0"), name: "containers" } }));
    const untried = { state: "not-run", reason: "processes mount nothing", checks: [] } as const;
    const second = updateRecord(first, reportWith(untried, { against: { ...engine("1.0"), name: "processes" } }));

    expect(second.real).toMatchObject({ backEnd: "processes", features: { logs: { earlier: { backEnd: "containers", version: "1.0" } } } });
    expect(parseRecord(renderRecord(second), "conformance.json")).toEqual(second);
  });

  test("a run on a fake says nothing of the real back end, and has no date", () => {
    const real = updateRecord(undefined, reportWith({}, { against: engine("1.0") }));
    const both = updateRecord(
      real,
      reportWith({ state: "lacking", reason: "x", checks: [] }, { against: { kind: "fake", name: "a fake" } }),
    );

    expect(both.real).toEqual(real.real);
    expect(both.fake).toMatchObject({ backEnd: "a fake", features: { logs: { state: "lacking" } } });
    expect(both.fake).not.toHaveProperty("date");
  });

  test("a feature of which nothing could be tried is not run, with the reasons of its checks", () => {
    expect(updateRecord(undefined, reportWith({ state: "not-run", checks: [skippedCheck] })).own?.features.logs).toEqual({
      state: "not-run",
      reason: "no such hardware",
    });
  });
});

test("another day and another version are the same findings, and another outcome is not", () => {
  const [first, later] = [reportWith({}, { against: engine("1.0") }), reportWith({}, { against: engine("2.0"), date: "2026-02-02" })];
  const failing = reportWith({ state: "lacking", reason: "x", checks: [] }, { against: engine("1.0") });

  expect(sameFindings(updateRecord(undefined, first), updateRecord(undefined, later))).toBe(true);
  expect(sameFindings(updateRecord(undefined, first), updateRecord(undefined, failing))).toBe(false);
});

test("what was written can be read", () => {
  expect(parseRecord(renderRecord(passed), "conformance.json")).toEqual(passed);
});

test("a file that is no record is told in one line", () => {
  expect(() => parseRecord('{"real":{"backEnd":"x","features":{"logs":{"state":"maybe"}}}}', "providers/mine/conformance.json")).toThrow(
    /^providers\/mine\/conformance\.json: real\.features\.logs\.state: [^\n]+; delete it and run `make generate`$/,
  );
});
