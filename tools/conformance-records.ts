import { featureNames, type ConformanceReport } from "@virtual-kubelet/testing/conformance";
import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { MatrixColumn } from "./capability-matrix.ts";
import type { CheckResult } from "./check.ts";
import { parseRecord, renderRecord, sameFindings, updateRecord, type ConformanceRecord } from "./conformance-record.ts";
import { readProviderList } from "./provider-list.ts";
import { root } from "./workspace.ts";

/**
 * Folder of the suite's reports: `TAG.json`; for a provider that also runs on a fake `TAG.real.json`, and `TAG-OTHER.real.json` for each
 * further real back end.
 */
const reportFolder: string = join(root, ".reports/conformance");

/** A provider with a record. */
interface RecordedProvider {
  readonly tag: string;
  /** Relative to the top. */
  readonly folder: string;
}

/** Templates of new providers. */
const templates: readonly RecordedProvider[] = [
  { tag: "template", folder: "templates/provider" },
  { tag: "remote-template", folder: "templates/remote-provider" },
];

/** Providers of provider.yaml that are in this repository, and the templates. */
function recordedProviders(): RecordedProvider[] {
  const listed = readProviderList().filter(({ external }) => !external);
  return [
    ...listed.map(({ tag }) => ({ tag, folder: `providers/${tag}` })),
    ...templates.filter(({ folder }) => existsSync(join(root, folder))),
  ];
}

function recordPath({ folder }: RecordedProvider): string {
  return `${folder}/conformance.json`;
}

function readRecord(provider: RecordedProvider): ConformanceRecord | undefined {
  const path = recordPath(provider);
  return existsSync(join(root, path)) ? parseRecord(readFileSync(join(root, path), "utf8"), path) : undefined;
}

/** Columns of the matrix, from the committed records; a provider without a report has an empty column. */
export function matrixColumns(): MatrixColumn[] {
  return recordedProviders().map((provider) => ({ provider: provider.tag, record: readRecord(provider) ?? {} }));
}

/**
 * Updates the committed records from the reports of this machine's last runs, or with `check` reports outdated records.
 *
 * @param options.includes - which providers, by tag; default: all of them
 */
export function updateRecords(options: { readonly check: boolean; readonly includes?: (tag: string) => boolean }): CheckResult[] {
  const { check, includes = () => true } = options;
  return recordedProviders()
    .filter(({ tag }) => includes(tag) && reportPaths(tag).length > 0)
    .map((provider) => ({ name: recordPath(provider), problems: updateOne(provider, check) }));
}

function updateOne(provider: RecordedProvider, check: boolean): string[] {
  const path = recordPath(provider);
  let before: ConformanceRecord | undefined;
  try {
    before = readRecord(provider);
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
  const reports = reportPaths(provider.tag).map((report) => JSON.parse(readFileSync(report, "utf8")) as ConformanceReport);
  if (reports.some(({ date, features }) => date === undefined || featureNames.some((feature) => features[feature] === undefined)))
    return [`a report on ${provider.tag} in .reports/conformance is of an older suite; delete it, or run the suite again`];
  const after = reports.reduce<ConformanceRecord>(updateRecord, before ?? {});
  // Dates and versions differ between machines, so they are written but not compared.
  if (before !== undefined && (check ? sameFindings(before, after) : renderRecord(before) === renderRecord(after))) return [];
  if (check) return [`${path} is not what the last run of the suite found; run \`make generate\` and commit the result`];
  writeFileSync(join(root, path), renderRecord(after));
  return [];
}

/** Removes reports of earlier runs of the suite for these providers. */
export function removeReports(includes: (tag: string) => boolean): void {
  for (const { tag } of recordedProviders()) if (includes(tag)) for (const path of reportPaths(tag)) rmSync(path);
}

/** Existing reports on a provider. The last one is that of the real back end that the record is named after. */
function reportPaths(tag: string): string[] {
  const others = globSync(`${tag}-*.real.json`, { cwd: reportFolder }).toSorted();
  return [`${tag}.json`, ...others, `${tag}.real.json`].map((name) => join(reportFolder, name)).filter((path) => existsSync(path));
}
