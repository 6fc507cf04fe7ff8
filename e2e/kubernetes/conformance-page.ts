import type { SpecResult } from "./ginkgo-report.ts";

/** How one group of tests went. */
export interface GroupOutcome {
  readonly title: string;
  readonly results: readonly SpecResult[];
  readonly minutes: number;
}

/** What a run of Kubernetes' own tests came to. */
export interface ConformanceRun {
  /** When, and what took part, in a line each. */
  readonly circumstances: readonly string[];
  readonly outcomes: readonly GroupOutcome[];
  /** From a pod's creation until it was seen running, in seconds. */
  readonly startSeconds: { readonly pods: number; readonly p50: number; readonly p90: number; readonly p99: number };
}

/** Such as `165 of 166, in 8 minutes`. */
export function summaryOf({ results, minutes }: GroupOutcome): string {
  return `${results.filter(({ passed }) => passed).length} of ${results.length}, in ${Math.max(1, Math.round(minutes))} minutes`;
}

/** The generated part of the page. */
export function conformancePage({ circumstances, outcomes, startSeconds }: ConformanceRun): string {
  const { pods, p50, p90, p99 } = startSeconds;
  return [
    ...circumstances.map((line) => `- ${line}`),
    `- ${pods} pods from their creation until they were seen running: p50 ${p50.toFixed(1)} s, p90 ${p90.toFixed(1)} s, p99 ${p99.toFixed(1)} s`,
    "",
    ...outcomes.flatMap(groupSection),
  ].join("\n");
}

function groupSection(outcome: GroupOutcome): string[] {
  const { title, results } = outcome;
  const failed = results.filter(({ passed }) => !passed);
  return [
    `## ${title}`,
    "",
    `**${summaryOf(outcome)}**`,
    "",
    "| file | passed | of |",
    "| --- | --- | --- |",
    ...[...byFile(results)].map(([file, ofFile]) => `| ${file} | ${ofFile.filter(({ passed }) => passed).length} | ${ofFile.length} |`),
    "",
    ...(failed.length === 0
      ? []
      : ["What does not pass:", "", ...failed.map(({ name, reason = "" }) => `- ${plain(name)}: ${plain(reason)}`), ""]),
  ];
}

function byFile(results: readonly SpecResult[]): ReadonlyMap<string, readonly SpecResult[]> {
  const sorted = results.toSorted((a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : 0));
  return Map.groupBy(sorted, ({ file }) => file);
}

/** Text that Markdown does not read anything into. */
function plain(text: string): string {
  return text.replaceAll(/[\\`*_[\]<>|]/g, "\\$&");
}
