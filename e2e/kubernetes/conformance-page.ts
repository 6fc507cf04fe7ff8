import type { ConformanceRun, FileRecord, GroupRecord, StartQuantiles } from "./conformance-record.ts";
import type { SpecResult } from "./ginkgo-report.ts";
import type { LeftOut } from "./spec-groups.ts";

/** Result of a test as shown on the page. */
export interface JudgedSpec extends SpecResult {
  /** Component that the test really exercises; `undefined` if the test needs a kubelet. */
  readonly who?: string | undefined;
  /** Reason why the test cannot pass here with any node; `undefined` if it can. */
  readonly limit?: string | undefined;
}

/** Results of a group of tests. */
export interface GroupOutcome {
  readonly title: string;
  readonly results: readonly JudgedSpec[];
  readonly minutes: number;
  readonly starts: StartQuantiles | undefined;
  /** Rules that omit tests of the group, with the number of tests. */
  readonly leftOut: readonly (LeftOut & { readonly count: number })[];
}

/** Returns the part of the results that is recorded. */
export function groupRecord({ title, results, minutes, starts, leftOut }: GroupOutcome): GroupRecord {
  const sorted = results.toSorted((a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : 0));
  return {
    title,
    minutes: Math.round(minutes * 10) / 10,
    starts,
    files: [...Map.groupBy(sorted, ({ file }) => file)].map(([file, ofFile]) => fileRecord(file, ofFile)),
    failed: sorted.filter(({ passed }) => !passed).map(({ name, reason = "", limit }) => ({ name, reason: limit ?? reason })),
    leftOut,
  };
}

function fileRecord(file: string, results: readonly JudgedSpec[]): FileRecord {
  const [first, ...more] = results.flatMap(({ who }) => who ?? []);
  const others = first === undefined ? undefined : { count: more.length + 1, who: first };
  return { file, of: results.length, passed: results.filter(({ passed }) => passed).length, others };
}

/** Such as `165 of 166, in 8 minutes`. */
export function summaryOf(group: GroupRecord): string {
  return `${countOf(group)}, in ${Math.max(1, Math.round(group.minutes))} minutes`;
}

/** Such as `165 of 166`. */
function countOf({ files }: GroupRecord): string {
  const sum = (pick: (file: FileRecord) => number): number => files.reduce((total, file) => total + pick(file), 0);
  return `${sum(({ passed }) => passed)} of ${sum(({ of }) => of)}`;
}

/**
 * The page's sections about a run: each group under each policy, side by side.
 *
 * @param heading - marks of the sections' headings
 */
export function conformanceSections({ commit, date, circumstances, policies }: ConformanceRun, heading: "##" | "###"): string {
  const titles = policies[0]?.groups.map(({ title }) => title) ?? [];
  const groupsOf = (title: string): PolicyGroup[] =>
    policies.flatMap(({ name, groups }) => groups.filter((group) => group.title === title).map((group) => ({ policy: name, group })));
  return [
    `One run of commit \`${commit}\`, ${date}:`,
    "",
    ...circumstances.map((line) => `- ${line}`),
    ...policies.map(({ name, about }) => `- policy *${name}*: ${about}`),
    "",
    `| tests | ${policies.map(({ name }) => `policy *${name}*`).join(" | ")} |`,
    `| --- |${" --- |".repeat(policies.length)}`,
    ...titles.map(
      (title) =>
        `| ${title} | ${groupsOf(title)
          .map(({ group }) => `**${countOf(group)}**`)
          .join(" | ")} |`,
    ),
    "",
    ...titles.flatMap((title) => groupSection(`${heading} ${title}`, groupsOf(title))),
  ].join("\n");
}

/** A group under one policy. */
interface PolicyGroup {
  readonly policy: string;
  readonly group: GroupRecord;
}

function groupSection(heading: string, groups: readonly PolicyGroup[]): readonly string[] {
  const files = [...new Set(groups.flatMap(({ group }) => group.files.map(({ file }) => file)))].toSorted();
  return [
    heading,
    "",
    ...groups.map(({ policy, group }) => `- *${policy}*: ${summaryOf(group)}${startsOf(group)}`),
    "",
    `| file | tests | ${groups.map(({ policy }) => `passed, *${policy}*`).join(" | ")} | need no kubelet |`,
    `| --- | --- |${" --- |".repeat(groups.length + 1)}`,
    ...files.map((file) => fileRow(file, groups)),
    "",
    ...groups.flatMap(({ policy, group }) =>
      listed(
        `What does not pass with policy *${policy}*:`,
        group.failed.map(({ name, reason }) => `- ${plain(name)}: ${plain(reason)}`),
      ),
    ),
    ...listed(
      "What is left out:",
      (groups[0]?.group.leftOut ?? []).map(({ tests, why, count }) => `- ${count} with \`${tests}\` in the name: ${plain(why)}`),
    ),
  ];
}

function startsOf({ starts }: GroupRecord): string {
  if (!starts) return "";
  const { pods, p50, p90, p99 } = starts;
  return `; ${pods} pods from their creation until they were seen running: p50 ${p50.toFixed(1)} s, p90 ${p90.toFixed(1)} s, p99 ${p99.toFixed(1)} s`;
}

function fileRow(file: string, groups: readonly PolicyGroup[]): string {
  const found = groups.map(({ group }) => group.files.find((each) => each.file === file));
  const { of, others } = found.find((each) => each) ?? {};
  const passed = found.map((each) => each?.passed ?? 0).join(" | ");
  return `| ${file} | ${of} | ${passed} | ${others === undefined ? "" : `${others.count}: ${others.who}`} |`;
}

function listed(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [title, "", ...lines, ""];
}

/** Escapes text for Markdown. */
function plain(text: string): string {
  return text.replaceAll(/[\\`*_[\]<>|]/g, "\\$&");
}
