import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestOutcome } from "./test-outcomes.ts";

/** What a suite does on a real kube-apiserver. */
export interface RealResult {
  /** Number of tests that pass. */
  readonly passed: number;
  /** Names of the tests that fail there, too. */
  readonly failed: readonly string[];
}

/** Results of all suites on a real kube-apiserver. */
export interface RealResults {
  /** Of controller-runtime, such as `v0.25.2`. */
  readonly version: string;
  /** Of kube-apiserver, such as `v1.36.3`. */
  readonly kubernetes: string;
  readonly suites: Readonly<Record<string, RealResult>>;
}

const file = join(import.meta.dirname, "real-results.json");

export function readRealResults(): RealResults {
  return JSON.parse(readFileSync(file, "utf8")) as RealResults;
}

export function writeRealResults(results: RealResults): void {
  writeFileSync(file, `${JSON.stringify(results, undefined, 2)}\n`);
}

export function toRealResult(outcomes: readonly TestOutcome[]): RealResult {
  return {
    passed: outcomes.filter(({ outcome }) => outcome === "passed").length,
    failed: namesOf(outcomes, "failed"),
  };
}

/** Names of the tests with the outcome, sorted. */
export function namesOf(outcomes: readonly TestOutcome[], wanted: TestOutcome["outcome"]): string[] {
  return outcomes.flatMap(({ name, outcome }) => (outcome === wanted ? [name] : [])).toSorted();
}
