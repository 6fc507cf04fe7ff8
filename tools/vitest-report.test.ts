import { expect, test } from "vitest";
import { countReport, type VitestReport } from "./vitest-report.ts";

function report(change: Partial<VitestReport>): VitestReport {
  return { numPassedTests: 5, numFailedTests: 0, numPendingTests: 0, numTodoTests: 0, testResults: [], ...change };
}

test("passed, failed and skipped tests are taken over; a todo is a skip", () => {
  expect(countReport(report({ numFailedTests: 2, numPendingTests: 3, numTodoTests: 1 }), 1)).toEqual({ passed: 5, failed: 2, skipped: 4 });
});

test("a file that did not load is a failure", () => {
  expect(countReport(report({ testResults: [{ status: "failed", assertionResults: [] }] }), 1).failed).toBe(1);
});

test("a file with a failed test is not counted twice", () => {
  const testResults = [{ status: "failed", assertionResults: [{ status: "failed" }] }];

  expect(countReport(report({ numFailedTests: 1, testResults }), 1).failed).toBe(1);
});

test("a run that failed without a failed test is a failure", () => {
  expect(countReport(report({}), 1).failed).toBe(1);
});

test("a run without a report is a failure", () => {
  expect(countReport(undefined, 0)).toEqual({ passed: 0, failed: 1, skipped: 0 });
});
