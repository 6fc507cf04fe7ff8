import type { ConformanceReport } from "@virtual-kubelet/testing/conformance";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { MatrixColumn } from "./capability-matrix.ts";
import type { CheckResult } from "./check.ts";
import { parseRecord, renderRecord, updateRecord, type ConformanceRecord } from "./conformance-record.ts";
import { readProviderList } from "./provider-list.ts";
import { root } from "./workspace.ts";

/** Where runs of the suite leave their reports; the file's name is the provider's tag. */
const reportFolder: string = join(root, ".reports/conformance");

/** A provider that has a record. */
interface RecordedProvider {
  readonly tag: string;
  /** Relative to the top. */
  readonly folder: string;
}

/** The providers of provider.yaml that live here, and the one that new providers start from. */
function recordedProviders(): RecordedProvider[] {
  const listed = readProviderList().filter(({ external }) => !external);
  const template = { tag: "template", folder: "templates/provider" };
  return [
    ...listed.map(({ tag }) => ({ tag, folder: `providers/${tag}` })),
    ...(existsSync(join(root, template.folder)) ? [template] : []),
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
  return recordedProviders().map((provider) => ({ provider: provider.tag, record: readRecord(provider) ?? { features: {} } }));
}

/**
 * Brings the committed records up to the reports of this machine's last runs, or with `check` says which are behind.
 *
 * @param options.includes - which providers, by tag; default: all of them
 */
export function updateRecords(options: { readonly check: boolean; readonly includes?: (tag: string) => boolean }): CheckResult[] {
  const { check, includes = () => true } = options;
  return recordedProviders()
    .filter(({ tag }) => includes(tag) && existsSync(reportPath(tag)))
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
  const after = renderRecord(updateRecord(before, JSON.parse(readFileSync(reportPath(provider.tag), "utf8")) as ConformanceReport));
  if (before !== undefined && renderRecord(before) === after) return [];
  if (check) return [`${path} is not what the last run of the suite found; run \`make generate\` and commit the result`];
  writeFileSync(join(root, path), after);
  return [];
}

/** Removes what earlier runs of the suite left of these providers. */
export function removeReports(includes: (tag: string) => boolean): void {
  for (const { tag } of recordedProviders()) if (includes(tag)) rmSync(reportPath(tag), { force: true });
}

function reportPath(tag: string): string {
  return join(reportFolder, `${tag}.json`);
}
