import type { SpecResult } from "./ginkgo-report.ts";

/** What a run of Kubernetes' own tests came to. */
export interface ConformanceRun {
  /** When, and what took part, in a line each. */
  readonly circumstances: readonly string[];
  readonly results: readonly SpecResult[];
  readonly minutes: number;
  /** From a pod's creation until it was seen running, in seconds. */
  readonly startSeconds: { readonly pods: number; readonly p50: number; readonly p90: number; readonly p99: number };
}

/** The generated part of the page. */
export function conformancePage({ circumstances, results, minutes, startSeconds }: ConformanceRun): string {
  const passed = results.filter((result) => result.passed);
  const failed = results.filter((result) => !result.passed);
  const { pods, p50, p90, p99 } = startSeconds;
  return [
    `**${passed.length} of ${results.length}** pass, in ${minutes.toFixed(0)} minutes.`,
    "",
    ...circumstances.map((line) => `- ${line}`),
    `- ${pods} pods from their creation until they were seen running: p50 ${p50.toFixed(1)} s, p90 ${p90.toFixed(1)} s, p99 ${p99.toFixed(1)} s`,
    "",
    "| file | passed | of |",
    "| --- | --- | --- |",
    ...[...byFile(results)].map(([file, ofFile]) => `| ${file} | ${ofFile.filter((result) => result.passed).length} | ${ofFile.length} |`),
    "",
    ...(failed.length === 0
      ? []
      : ["What does not pass:", "", ...failed.map(({ name, reason = "" }) => `- ${plain(name)}: ${plain(reason)}`), ""]),
  ].join("\n");
}

function byFile(results: readonly SpecResult[]): ReadonlyMap<string, readonly SpecResult[]> {
  const sorted = results.toSorted((a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : 0));
  return Map.groupBy(sorted, ({ file }) => file);
}

/** Text that Markdown does not read anything into. */
function plain(text: string): string {
  return text.replaceAll(/[\\`*_[\]<>|]/g, "\\$&");
}
