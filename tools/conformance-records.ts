import { featureNames, type ConformanceReport } from "@virtual-kubelet/testing/conformance";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { MatrixColumn } from "./capability-matrix.ts";
import type { CheckResult } from "./check.ts";
import { parseRecord, renderRecord, sameFindings, updateRecord, type ConformanceRecord } from "./conformance-record.ts";
import { readProviderList } from "./provider-list.ts";
import { root } from "./workspace.ts";

/** Where runs of the suite leave their reports: `TAG.json`, and `TAG.real.json` of a provider that also runs on a fake. */
const reportFolder: string = join(root, ".reports/conformance");

/** A provider that has a record. */
interface RecordedProvider {
  readonly tag: string;
  /** Relative to the top. */
  readonly folder: string;
}

/** What new providers start from. */
const templates: readonly RecordedProvider[] = [
  { tag: "template", folder: "templates/provider" },
  { tag: "remote-template", folder: "templates/remote-provider" },
];

/** The providers of provider.yaml that live here, and those that new providers start from. */
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

/** The columns of the matrix, from the committed records; a provider that no run has reported on yet has an empty one. */
export function matrixColumns(): MatrixColumn[] {
  return recordedProviders().map((provider) => ({ provider: provider.tag, record: readRecord(provider) ?? {} }));
}

/**
 * Brings the committed records up to the reports of this machine's last runs, or with `check` says which are behind.
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
  // A day and a version differ from machine to machine: they are written, and not asked for.
  if (before !== undefined && (check ? sameFindings(before, after) : renderRecord(before) === renderRecord(after))) return [];
  if (check) return [`${path} is not what the last run of the suite found; run \`make generate\` and commit the result`];
  writeFileSync(join(root, path), renderRecord(after));
  return [];
}

/** Removes what earlier runs of the suite left of these providers. */
export function removeReports(includes: (tag: string) => boolean): void {
  for (const { tag } of recordedProviders()) if (includes(tag)) for (const path of reportPaths(tag)) rmSync(path);
}

/** The reports on a provider that are there. */
function reportPaths(tag: string): string[] {
  return [`${tag}.json`, `${tag}.real.json`].map((name) => join(reportFolder, name)).filter((path) => existsSync(path));
}
