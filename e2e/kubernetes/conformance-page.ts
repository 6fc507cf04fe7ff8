import type { SpecResult } from "./ginkgo-report.ts";
import type { LeftOut } from "./spec-groups.ts";

/** From a pod's creation until it was seen running, in seconds. */
export interface StartQuantiles {
  readonly pods: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
}

/** A test of a group as the page shows it. */
export interface JudgedSpec extends SpecResult {
  /** Who answers, if no kubelet has to. */
  readonly who?: string | undefined;
  /** Why it cannot pass here, whatever the node does. */
  readonly limit?: string | undefined;
}

/** How one group of tests went. */
export interface GroupOutcome {
  readonly title: string;
  readonly results: readonly JudgedSpec[];
  readonly minutes: number;
  readonly starts: StartQuantiles;
  /** Tests of the group that were not run, by rule. */
  readonly leftOut: readonly (LeftOut & { readonly count: number })[];
}

/** Such as `165 of 166, in 8 minutes`. */
export function summaryOf({ results, minutes }: GroupOutcome): string {
  return `${results.filter(({ passed }) => passed).length} of ${results.length}, in ${Math.max(1, Math.round(minutes))} minutes`;
}

/**
 * The page's section on a group.
 *
 * @param circumstances - when, and what took part, in a line each
 */
export function groupSection(outcome: GroupOutcome, circumstances: readonly string[]): string {
  const { title, results, starts, leftOut } = outcome;
  const failed = results.filter(({ passed }) => !passed);
  const { pods, p50, p90, p99 } = starts;
  return [
    `## ${title}`,
    "",
    `**${summaryOf(outcome)}**`,
    "",
    `${pods} pods from their creation until they were seen running: p50 ${p50.toFixed(1)} s, p90 ${p90.toFixed(1)} s, p99 ${p99.toFixed(1)} s.`,
    "",
    ...circumstances.map((line) => `- ${line}`),
    "",
    "| file | passed | of | need no kubelet |",
    "| --- | --- | --- | --- |",
    ...[...byFile(results)].map(([file, ofFile]) => fileRow(file, ofFile)),
    "",
    ...listed(
      "What does not pass:",
      failed.map(({ name, reason = "", limit }) => `- ${plain(name)}: ${plain(limit ?? reason)}`),
    ),
    ...listed(
      "What is left out:",
      leftOut.map(({ tests, why, count }) => `- ${count} with \`${tests}\` in the name: ${plain(why)}`),
    ),
  ].join("\n");
}

function fileRow(file: string, results: readonly JudgedSpec[]): string {
  const passed = results.filter((result) => result.passed).length;
  const others = results.flatMap(({ who }) => who ?? []);
  return `| ${file} | ${passed} | ${results.length} | ${others.length === 0 ? "" : `${others.length}: ${others[0]}`} |`;
}

function listed(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [title, "", ...lines, ""];
}

function byFile<Result extends SpecResult>(results: readonly Result[]): ReadonlyMap<string, readonly Result[]> {
  const sorted = results.toSorted((a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : 0));
  return Map.groupBy(sorted, ({ file }) => file);
}

/** Text that Markdown does not read anything into. */
function plain(text: string): string {
  return text.replaceAll(/[\\`*_[\]<>|]/g, "\\$&");
}
