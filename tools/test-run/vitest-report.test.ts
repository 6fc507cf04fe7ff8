import { expect, test } from "vitest";
import { countReport, type VitestReport } from "./vitest-report.ts";

type TestResult = VitestReport["testResults"][number];

function report(change: Partial<VitestReport>): VitestReport {
  return { numPassedTests: 5, numPendingTests: 0, numTodoTests: 0, testResults: [], ...change };
}

test("passed, failed and skipped tests are taken over; a todo is a skip", () => {
  const failed = (fullName: string): TestResult => ({
    name: `${fullName}.test.ts`,
    status: "failed",
    assertionResults: [{ status: "failed", fullName }],
  });

  expect(countReport(report({ numPendingTests: 3, numTodoTests: 1, testResults: [failed("a"), failed("b")] }), 1)).toEqual({
    passed: 5,
    failed: 2,
    skipped: 4,
    failures: ["a.test.ts: a", "b.test.ts: b"],
  });
});

test("why a test failed is told in a line, without its stack", () => {
  const failureMessages = [
    "AssertionError: expected '' to contain \u001b[32m'told'\u001b[39m\n\nReceived: ''\n    at logs.test.ts:5:3\n    at run",
  ];
  const assertionResults = [{ status: "failed", fullName: "logs", failureMessages }];
  const testResults = [
    { name: "a.test.ts", status: "failed", assertionResults },
    { name: "b.test.ts", status: "failed", message: "no module", assertionResults: [] },
  ];

  expect(countReport(report({ testResults }), 1).failures).toEqual([
    "a.test.ts: logs: AssertionError: expected '' to contain 'told' Received: ''",
    "b.test.ts: the file as a whole: no module",
  ]);
});

test("a file that did not load is a failure", () => {
  expect(countReport(report({ testResults: [{ name: "a.test.ts", status: "failed", assertionResults: [] }] }), 1)).toMatchObject({
    failed: 1,
    failures: ["a.test.ts: the file as a whole"],
  });
});

test("a file with a failed test is not counted twice", () => {
  const testResults = [{ name: "a.test.ts", status: "failed", assertionResults: [{ status: "failed", fullName: "a" }] }];

  expect(countReport(report({ testResults }), 1).failed).toBe(1);
});

test("a run that failed without a failed test is a failure", () => {
  expect(countReport(report({}), 1).failed).toBe(1);
});

test("a run without a report is a failure", () => {
  expect(countReport(undefined, 0)).toMatchObject({ passed: 0, failed: 1, skipped: 0 });
});
