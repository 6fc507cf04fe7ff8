import { allChecks, featureNames, features, type Check, type Feature } from "@virtual-kubelet/testing/conformance";
import { runsOf, type ConformanceRecord, type FeatureRecord, type RunKind, type RunRecord } from "./conformance-record.ts";

/** A provider's column of the matrix. */
export interface MatrixColumn {
  /** What `--provider` takes. */
  readonly provider: string;
  readonly record: ConformanceRecord;
}

/**
 * Capabilities of each provider, as Markdown: a table, followed by the back ends of the runs and the reasons why a feature is missing
 * or was not tested. Features required for a release are bold.
 *
 * @param suite - the checks of the suite as it is now
 */
export function renderMatrix(columns: readonly MatrixColumn[], suite: readonly Pick<Check, "feature" | "name">[] = allChecks): string {
  const rows = featureNames.map((feature) => [
    `${features[feature]} (\`${feature}\`)`,
    ...columns.map(({ record }) => cellOf(record, feature)),
  ]);
  const head = ["", ...columns.map(({ provider }) => provider)];
  const table = [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`.replace("|  |", "| |"));
  return [table.join("\n"), ...columns.map((column) => renderColumn(column, suite))].join("\n\n");
}

/** Most conclusive result of a feature: a real back end counts before a fake, and a pass before a check that did not run. */
function cellOf(record: ConformanceRecord, feature: Feature): string {
  const found = runsOf(record).flatMap(([kind, { features: of }]) => (of[feature] ? [{ kind, ...of[feature] }] : []));
  const passed = found.find(({ state }) => state === "passed");
  if (passed) {
    const text = passed.kind === "fake" ? "on a fake" : "yes";
    return passed.required ? `**${text}**` : text;
  }
  return found.some(({ state }) => state === "lacking") ? "no" : "not run";
}

/** Back ends of a provider's runs, reasons for missing features, and features that were not tested. */
function renderColumn({ provider, record }: MatrixColumn, suite: readonly Pick<Check, "feature" | "name">[]): string {
  const runs = runsOf(record);
  const nowhere = runs.length === 0 ? ["- the suite has not run"] : [];
  const onlyFake = runs.length > 0 && runs.every(([kind]) => kind === "fake") ? ["- never run on the real back end"] : [];
  const lines = runs.flatMap(([kind, run]) => [`- ${againstOf(kind, run)}`, ...reasonsOf(run, suite)]);
  return `${provider}:\n\n${[...nowhere, ...onlyFake, ...lines].join("\n")}`;
}

function againstOf(kind: RunKind, { backEnd, version, date }: RunRecord): string {
  switch (kind) {
    case "real":
      return `run on the real back end: ${backEnd}${versionOf(version)}${date === undefined ? "" : `, on ${date}`}`;
    case "fake":
      return `run on a fake: ${backEnd}${version === undefined ? "" : `, as of version ${version}`}`;
    case "own":
      return `run on ${backEnd}: it has no other back end`;
    default:
      return kind satisfies never;
  }
}

function versionOf(version: string | undefined): string {
  return version === undefined ? ", of a version that was not recorded" : ` ${version}`;
}

/** A back end with its version, after a word such as "on"; the back end is left out if it is the record's own. */
function placeOf({ backEnd, version }: { readonly backEnd?: string | undefined; readonly version?: string | undefined }): string {
  return `${backEnd === undefined ? "" : ` ${backEnd}`}${versionOf(version)}`;
}

function reasonsOf(run: RunRecord, suite: readonly Pick<Check, "feature" | "name">[]): string[] {
  const missing = linesOf(run, ({ state, reason }) => (state === "passed" ? [] : [`${state === "lacking" ? "no" : "not run"}: ${reason}`]));
  const earlier = linesOf(run, ({ earlier: found }) => (found ? [`last run on${placeOf(found)}, on ${found.date}`] : []));
  const untried = linesOf(run, ({ untried: of = {} }) => Object.entries(of).map(([check, reason]) => `not tried: ${check}; ${reason}`));
  const newer = linesOf(run, ({ checks, untried: of = {} }, feature) =>
    suite
      .filter((check) => check.feature === feature && checks?.includes(check.name) === false && of[check.name] === undefined)
      .map(({ name }) => `not tried: ${name}; it is newer than the last run`),
  );
  const isVague = Object.values(run.features).some(({ state, checks }) => state === "passed" && !checks);
  const vague = suite.length > 0 && isVague ? ["- which of the checks of today it had was not recorded"] : [];
  return [...vague, ...missing, ...earlier, ...untried, ...newer];
}

function linesOf({ features: of }: RunRecord, describe: (record: FeatureRecord, feature: Feature) => readonly string[]): string[] {
  return featureNames.flatMap((feature) => (of[feature] ? describe(of[feature], feature) : []).map((text) => `- \`${feature}\`: ${text}`));
}
