import { choiceOf, type CommandLine } from "../command-line/flag-parser.ts";
import type { Context } from "../context.ts";
import { isColoured } from "../is-coloured.ts";
import type { Finding } from "../doctor/finding.ts";
import { countFindings, renderCounts, renderFinding, sectionOf, toFindingsJson } from "../doctor/render-findings.ts";
import { runChecks } from "../doctor/run-checks.ts";
import { exitCodes } from "../exit-codes.ts";
import { namespacesOf } from "../manifests/namespaces.ts";

const head = [
  "Nothing is changed. What is sent: GET requests to the API server and reviews of",
  "the program's own access, which are not stored; questions to the back end.",
  "",
].join("\n");

/** `doctor`: checks everything that a node needs, and prints what repairs each failure. */
export async function execute(line: CommandLine, context: Context): Promise<number> {
  const isJson = choiceOf(line, "output", "text") === "json";
  // Refuses malformed namespaces before anything is sent.
  namespacesOf(line);
  const { stdout, env } = context;
  const coloured = isColoured(stdout, env);
  const findings: Finding[] = [];
  if (!isJson) stdout.write(head);
  for await (const finding of runChecks(line, context)) {
    const last = findings.at(-1);
    findings.push(finding);
    if (isJson) continue;
    const section = sectionOf(finding);
    if (last === undefined || sectionOf(last) !== section) stdout.write(`\n${section}\n`);
    stdout.write(renderFinding(finding, coloured));
  }
  const counts = countFindings(findings);
  stdout.write(isJson ? toFindingsJson(findings) : `\n${renderCounts(counts)}`);
  return counts.fail > 0 ? exitCodes.failure.code : exitCodes.ok.code;
}
