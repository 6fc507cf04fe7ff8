import { brokenProviders } from "../e2e/conformance/support/broken-providers.ts";

/** The providers that the suite has to find, and the check that finds each, as a table of Markdown. */
export function renderBrokenProviders(): string {
  const rows = brokenProviders.map(({ fault, check }) => `| ${fault} | ${check.name} (\`${check.feature}\`) |`);
  return ["| A provider that … | is found by the check that |", "| --- | --- |", ...rows].join("\n");
}
