import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { growthTable, readGrowth } from "../bench/src/growth-data.ts";
import { drawGrowth, drawPauses } from "../bench/src/growth-picture.ts";
import { conformanceSections } from "../e2e/kubernetes/conformance-page.ts";
import { parseConformanceRun } from "../e2e/kubernetes/conformance-record.ts";
import { trials } from "../e2e/kubernetes/trials.ts";
import { renderBrokenProviders } from "./broken-providers.ts";
import { renderMatrix } from "./capability-matrix.ts";
import { renderChart, renderValues, renderValueTable } from "./chart/chart-files.ts";
import { renderRightsTemplate } from "./chart/rights-template.ts";
import { valuesJsonSchema } from "./chart/values-schema.ts";
import { printChecks, type CheckResult } from "./check.ts";
import { renderExitCodes, renderFlags, renderObsolete } from "./config-reference.ts";
import { matrixColumns, updateRecords } from "./conformance-records.ts";
import { replaceRegion } from "./marked-region.ts";
import {
  catalogueMetrics,
  probeReference,
  processReference,
  renderMetricTable,
  resourceReference,
  volumeReference,
} from "./metric-reference.ts";
import { alerts } from "./monitoring/alerts.ts";
import { rows } from "./monitoring/dashboard.ts";
import { renderAlertGuide, renderPrometheusRule, renderRuleFile } from "./monitoring/render-alerts.ts";
import { renderDashboard } from "./monitoring/render-dashboard.ts";
import { cloneSteps, imageNotice, updateNotices } from "./publication-notice.ts";
import { readScores, renderScores } from "./mutation/score.ts";
import { renderPackageTree } from "./package-tree.ts";
import { renderPodStates } from "./pod-state-diagram.ts";
import {
  referenceExplanations,
  renderConditions,
  renderErrorCodes,
  renderExitCodeEntries,
  renderFields,
  renderReasons,
} from "./reason-reference.ts";
import { renderProviderConfig, renderScriptFields } from "./provider-reference.ts";
import { renderUpstreamCommandLines } from "./upstream-command-lines.ts";
import { renderAdoption } from "./adoption.ts";
import { folderProblems, readProviderList, renderProviderList } from "./provider-list.ts";
import { configJsonSchema } from "../packages/cli/src/config/schema.ts";
import { renderExampleFile, renderSettings } from "./site/settings-reference.ts";
import { readGuides, readSiteOptions, renderGuideList } from "./site/guides.ts";
import { templateFolders } from "./template-files.ts";
import { root, type Manifest } from "./workspace.ts";

/** A page with a generated region. */
interface GeneratedRegion {
  readonly page: string;
  readonly region: string;
  content(): Promise<string> | string;
}

function providerTable(toTop: string): string {
  return renderProviderList(readProviderList(), toTop);
}

/** A tested file of the repository as a code block. */
function codeFile(path: string): string {
  return `\`\`\`ts\n${readFileSync(join(root, path), "utf8").trim()}\n\`\`\``;
}

function guideList(): string {
  const options = readSiteOptions();
  return renderGuideList(readGuides(options), options.categoryOrder, "docs");
}

const monitoringGuide = "docs/guides/monitoring.md";
/** The configuration of every provider, as in its README. */
async function providerSettings(): Promise<string> {
  const own = readProviderList().filter(({ external }) => !external);
  const parts = own.map(
    async ({ tag, name }) => `### ${/\*\*(.+?)\*\*/.exec(name)?.[1] ?? name}\n\n${await renderProviderConfig(`providers/${tag}`)}`,
  );
  return (await Promise.all(parts)).join("\n\n");
}

const settingsGuide = "docs/guides/settings.md";
const testingGuide = "docs/guides/testing-on-the-embedded-api-server.md";

const regions: readonly GeneratedRegion[] = [
  { page: "README.md", region: "providers", content: () => providerTable("") },
  { page: "docs/index.md", region: "guides", content: guideList },
  { page: "docs/guides/providers.md", region: "providers", content: () => providerTable("../../") },
  { page: "docs/guides/providers.md", region: "features", content: () => renderMatrix(matrixColumns()) },
  { page: "packages/testing/README.md", region: "broken-providers", content: () => renderBrokenProviders() },
  { page: "README.md", region: "embed-a-node", content: () => codeFile("examples/embed-a-node/src/main.ts") },
  { page: "README.md", region: "embedded-test", content: () => codeFile("e2e/embedded/readme.test.ts") },
  { page: "docs/guides/writing-a-provider.md", region: "template", content: () => codeFile("templates/provider/src/provider.ts") },
  {
    page: "docs/guides/writing-a-provider.md",
    region: "remote-template",
    content: () => codeFile("templates/remote-provider/src/provider.ts"),
  },
  { page: "docs/guides/writing-a-provider.md", region: "provider", content: () => codeFile("examples/process-provider/src/provider.ts") },
  ...["first", "fixture", "custom-resources", "webhooks", "aggregation", "users", "faults", "clock"].map((name) => ({
    page: testingGuide,
    region: `testing-${name}`,
    content: () => codeFile(`e2e/embedded/testing-guide/${name}.test.ts`),
  })),
  { page: testingGuide, region: "testing-node-test", content: () => codeFile("e2e/embedded/testing-guide/node-test.ts") },
  { page: testingGuide, region: "testing-operator", content: () => codeFile("examples/test-an-operator/operator.ts") },
  { page: testingGuide, region: "testing-operator-test", content: () => codeFile("examples/test-an-operator/operator.test.ts") },
  { page: "docs/guides/architecture.md", region: "packages", content: () => renderPackageTree() },
  { page: "docs/guides/architecture.md", region: "pod-states", content: () => renderPodStates() },
  { page: "docs/guides/testing.md", region: "mutation-scores", content: () => renderScores(readScores()) },
  { page: "providers/mock/README.md", region: "scripts", content: () => renderScriptFields() },
  { page: "docs/guides/configuration.md", region: "flags", content: () => renderFlags() },
  { page: settingsGuide, region: "settings", content: () => renderSettings(configJsonSchema()) },
  { page: settingsGuide, region: "example", content: () => `\`\`\`yaml\n${renderExampleFile(configJsonSchema(), "mock")}\n\`\`\`` },
  { page: settingsGuide, region: "provider-settings", content: providerSettings },
  { page: "docs/guides/configuration.md", region: "obsolete", content: () => renderObsolete() },
  { page: "docs/guides/moving-from-upstream.md", region: "obsolete", content: () => renderObsolete() },
  { page: "docs/guides/moving-from-upstream.md", region: "upstream-command-lines", content: () => renderUpstreamCommandLines() },
  ...["docs/guides/operations.md", "docs/guides/getting-started.md"].map((page) => ({
    page,
    region: "adoption",
    content: () => renderAdoption(matrixColumns()),
  })),
  { page: "docs/guides/configuration.md", region: "exit-codes", content: () => renderExitCodes() },
  { page: "docs/guides/getting-started.md", region: "clone-steps", content: () => cloneSteps() },
  ...["docs/guides/on-my-cluster.md", "docs/guides/testing-on-the-embedded-api-server.md", "deploy/chart/README.md"].map((page) => ({
    page,
    region: "no-image",
    content: () => imageNotice(),
  })),
  { page: "deploy/chart/README.md", region: "values", content: () => renderValueTable(valuesJsonSchema()) },
  { page: monitoringGuide, region: "metrics", content: () => renderMetricTable(catalogueMetrics()) },
  { page: monitoringGuide, region: "volume-metrics", content: () => renderMetricTable(volumeReference()) },
  { page: monitoringGuide, region: "process-metrics", content: async () => renderMetricTable(await processReference()) },
  { page: monitoringGuide, region: "resource-metrics", content: () => renderMetricTable(resourceReference()) },
  { page: monitoringGuide, region: "probe-metrics", content: () => renderMetricTable(probeReference()) },
  { page: monitoringGuide, region: "alerts", content: () => renderAlertGuide(alerts) },
  { page: "docs/guides/performance.md", region: "growth", content: () => growthTable(readGrowth()) },
  { page: "docs/guides/reasons.md", region: "reasons", content: async () => renderReasons(await referenceExplanations()) },
  { page: "docs/guides/reasons.md", region: "error-codes", content: async () => renderErrorCodes(await referenceExplanations()) },
  { page: "docs/guides/reasons.md", region: "conditions", content: async () => renderConditions(await referenceExplanations()) },
  { page: "docs/guides/reasons.md", region: "fields", content: async () => renderFields(await referenceExplanations()) },
  { page: "docs/guides/reasons.md", region: "exit-codes", content: async () => renderExitCodeEntries(await referenceExplanations()) },
];

/** The chart's manifest with the version of the program's package. */
function chartManifest(): string {
  const { version } = JSON.parse(readFileSync(join(root, "packages/cli/package.json"), "utf8")) as Manifest;
  return renderChart(readFileSync(join(root, "deploy/chart/Chart.yaml"), "utf8"), version);
}

/** A file that is generated as a whole. */
interface GeneratedFile {
  readonly path: string;
  content(): string;
}

const files: readonly GeneratedFile[] = [
  { path: "docs/pictures/growth.svg", content: () => drawGrowth(readGrowth()) },
  { path: "docs/pictures/pauses.svg", content: () => drawPauses(readGrowth()) },
  { path: "deploy/monitoring/alerts.yaml", content: () => renderRuleFile(alerts) },
  { path: "deploy/monitoring/prometheus-rule.yaml", content: () => renderPrometheusRule(alerts) },
  { path: "deploy/monitoring/dashboard.json", content: () => renderDashboard(rows) },
  { path: "deploy/chart/Chart.yaml", content: chartManifest },
  { path: "deploy/chart/values.yaml", content: () => renderValues(valuesJsonSchema()) },
  { path: "deploy/chart/values.schema.json", content: () => `${JSON.stringify(valuesJsonSchema(), undefined, 2)}\n` },
  { path: "deploy/chart/templates/_rights.tpl", content: renderRightsTemplate },
];

/** Results of the last complete runs of Kubernetes' own conformance tests. */
function conformanceRegions(): GeneratedRegion[] {
  return trials.map(({ record, region, heading }) => ({
    page: "docs/guides/conformance.md",
    region,
    content: () => conformanceSections(parseConformanceRun(readFileSync(record, "utf8")), heading),
  }));
}

/** Every provider's README has the table of its configuration. */
function configRegions(): GeneratedRegion[] {
  const own = readProviderList().filter(({ external }) => !external);
  const folders = [...Object.values(templateFolders), ...own.map(({ tag }) => `providers/${tag}`)];
  return folders.map((folder) => ({ page: `${folder}/README.md`, region: "config", content: () => renderProviderConfig(folder) }));
}

/** Differences between provider.yaml and the folders under providers/. */
function providerProblems(): string[] {
  const folders = globSync("providers/*/package.json", { cwd: root }).map((path) => path.split("/")[1] ?? "");
  return folderProblems(readProviderList(), folders.sort());
}

/** The problems that `find` returns or throws, in lines. */
async function problemsOf(find: () => Promise<readonly string[]> | readonly string[]): Promise<readonly string[]> {
  try {
    return await find();
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}

/** Writes every generated region, or with `check` reports the regions that are out of date. */
export async function generate(options: { readonly check: boolean }): Promise<CheckResult[]> {
  // The other regions depend on provider.yaml.
  const unreadable = await problemsOf(() => (readProviderList(), []));
  if (unreadable.length > 0) return [{ name: "provider.yaml", problems: unreadable }];
  const results: CheckResult[] = [
    { name: "provider.yaml names the folders under providers/", problems: await problemsOf(providerProblems) },
    ...updateRecords(options),
    updateNotices(options),
  ];
  for (const { page, region, content } of [...regions, ...conformanceRegions(), ...configRegions()]) {
    const problems = await problemsOf(async () => {
      const path = join(root, page);
      if (!existsSync(path)) return [`${page} is missing`];
      const before = readFileSync(path, "utf8");
      const after = replaceRegion(before, region, await content());
      if (after === before) return [];
      if (options.check) return [`${page}: the region "${region}" is out of date; run \`make generate\` and commit the result`];
      writeFileSync(path, after);
      return [];
    });
    results.push({ name: `${page}: ${region}`, problems });
  }
  for (const { path, content } of files)
    results.push({ name: path, problems: await problemsOf(() => writeGenerated(path, content(), options)) });
  return results;
}

/** @returns the problem of a file that is out of date, with `check`; otherwise writes it */
function writeGenerated(path: string, content: string, { check }: { readonly check: boolean }): readonly string[] {
  const file = join(root, path);
  if (existsSync(file) && readFileSync(file, "utf8") === content) return [];
  if (check) return [`${path} is out of date; run \`make generate\` and commit the result`];
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  return [];
}

if (import.meta.main) {
  const { failed } = printChecks(await generate({ check: process.argv.includes("--check") }));
  if (failed > 0) process.exitCode = 1;
}
