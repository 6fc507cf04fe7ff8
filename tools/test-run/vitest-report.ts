import { stripVTControlCharacters } from "node:util";

/** How many tests of a level passed, failed and were left out. */
export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** What failed, and how, in a line each: CI shows the end of the output alone. */
  readonly failures: readonly string[];
}

/** The part of Vitest's JSON report that is counted. */
export interface VitestReport {
  readonly numPassedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    /** Why the file as a whole failed. */
    readonly message?: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      /** Each with its stack. */
      readonly failureMessages?: readonly string[] | null;
    }[];
  }[];
}

/** The longest that is told of why a test failed, in characters. */
const reasonLength = 200;

/**
 * Counts a report. A file that failed without a failed test (it did not load, or a hook threw) counts as one failure,
 * and so does a run that failed as a whole, such as one with an unhandled rejection.
 *
 * @param report - `undefined` if Vitest wrote none
 */
export function countReport(report: VitestReport | undefined, exitCode: number): Counts {
  if (report === undefined) return { passed: 0, failed: 1, skipped: 0, failures: ["vitest wrote no report"] };
  const failures = report.testResults
    .filter(({ status }) => status === "failed")
    .flatMap(({ name, message, assertionResults }) => {
      const tests = assertionResults.filter((test) => test.status === "failed");
      if (tests.length === 0) return [`${name}: the file as a whole${reason(message)}`];
      return tests.map(({ fullName, failureMessages }) => `${name}: ${fullName.trim()}${reason(failureMessages?.[0])}`);
    });
  if (failures.length === 0 && exitCode !== 0) failures.push(`the run as a whole: vitest ended with ${exitCode}`);
  return {
    passed: report.numPassedTests,
    failed: failures.length,
    skipped: report.numPendingTests + report.numTodoTests,
    failures,
  };
}

/** The message without its stack, on one line. */
function reason(message = ""): string {
  const [words = ""] = stripVTControlCharacters(message).split(/\n\s+at /);
  const line = words.trim().replace(/\s+/g, " ");
  return line === "" ? "" : `: ${line.slice(0, reasonLength)}`;
}

/** Sums of two results. */
export function addCounts(one: Counts, other: Counts): Counts {
  return {
    passed: one.passed + other.passed,
    failed: one.failed + other.failed,
    skipped: one.skipped + other.skipped,
    failures: [...one.failures, ...other.failures],
  };
}
