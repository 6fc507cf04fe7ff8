import { wrap } from "../command-line/help-text.ts";
import { redactText } from "../config/redact.ts";
import { escaped } from "../logging/formats.ts";
import type { Finding, FindingStatus } from "./finding.ts";

/** Width of the text in columns. Commands are not wrapped, so that they can be copied. */
const width = 80;

/** Labels in a terminal's text, and their colors. */
const labels: Readonly<Record<FindingStatus, readonly [label: string, color: string]>> = {
  pass: ["pass", "32"],
  warn: ["WARN", "33"],
  fail: ["FAIL", "31"],
  skip: ["skip", "2"],
};

/** Number of findings by status. */
export type FindingCounts = Readonly<Record<FindingStatus, number>>;

/** Counts findings by their status. */
export function countFindings(findings: readonly Finding[]): FindingCounts {
  const counts = { pass: 0, warn: 0, fail: 0, skip: 0 };
  for (const { status } of findings) counts[status]++;
  return counts;
}

/** Heading of a finding's section. */
export function sectionOf({ check, node }: Finding): string {
  if (node !== undefined) return `Node ${node}`;
  const [group = ""] = check.split(".", 1);
  return group === "configuration" || group === "cluster" || group === "permissions"
    ? group.charAt(0).toUpperCase() + group.slice(1)
    : "Nodes";
}

/** Lines of one finding: status, name and message, and beneath them the commands that repair it. @param coloured - color the status */
export function renderFinding(finding: Finding, coloured: boolean): string {
  const { status, check, message, repair } = shown(finding);
  const [label, color] = labels[status];
  const mark = coloured ? `\u001b[${color}m${label}\u001b[0m` : label;
  const [first = "", ...rest] = wrap(`${check}: ${message}`, width - "  pass  ".length);
  const steps = status === "pass" ? [] : repair.flatMap(stepLines);
  return [`  ${mark}  ${first}`, ...rest.map((line) => `        ${line}`), ...steps.map((line) => `          ${line}`), ""].join("\n");
}

/** A remark is wrapped, a command is not. */
function stepLines(step: string): string[] {
  if (!step.startsWith("# ")) return [`$ ${step}`];
  return wrap(step.slice(2), width - "          # ".length).map((line) => `# ${line}`);
}

/** Last line of the text. */
export function renderCounts({ pass, warn, fail, skip }: FindingCounts): string {
  return `${pass} passed, ${warn} ${warn === 1 ? "warning" : "warnings"}, ${fail} failed, ${skip} skipped\n`;
}

/** All findings as JSON; the names of checks are stable. */
export function toFindingsJson(findings: readonly Finding[]): string {
  const summary = countFindings(findings);
  return `${JSON.stringify({ ok: summary.fail === 0, summary, findings: findings.map(shown) }, undefined, 2)}\n`;
}

/** A finding without secrets, and without characters that control a terminal: back ends and other users determine parts of the text. */
function shown(finding: Finding): Finding {
  const safe = (text: string): string => escaped(redactText(text));
  return { ...finding, message: safe(finding.message), repair: finding.repair.map(safe) };
}
