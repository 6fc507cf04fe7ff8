import { featureNames, features, type Feature } from "@virtual-kubelet/testing/conformance";
import type { ConformanceRecord, FeatureRecord } from "./conformance-record.ts";

/** A provider's column of the matrix. */
export interface MatrixColumn {
  /** What `--provider` takes. */
  readonly provider: string;
  readonly record: ConformanceRecord;
}

/**
 * What each provider can do, as Markdown: a table, and under it why something is missing or was not tried. What a
 * release does not go without is in bold.
 */
export function renderMatrix(columns: readonly MatrixColumn[]): string {
  const rows = featureNames.map((feature) => [
    `${features[feature]} (\`${feature}\`)`,
    ...columns.map(({ record }) => cellOf(record.features[feature])),
  ]);
  const head = ["", ...columns.map(({ provider }) => provider)];
  const table = [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`.replace("|  |", "| |"));
  return [table.join("\n"), ...columns.map(renderReasons).filter((text) => text !== "")].join("\n\n");
}

function cellOf(record: FeatureRecord | undefined): string {
  switch (record?.state) {
    case "passed":
      return record.required ? "**yes**" : "yes";
    case "lacking":
      return "no";
    default:
      return "not run";
  }
}

/** Why a provider lacks what it lacks, and what could not be tried; empty if there is nothing to say. */
function renderReasons({ provider, record }: MatrixColumn): string {
  const missing = lines(record, ({ state, reason }) =>
    state === "passed" ? [] : [`${state === "lacking" ? "no" : "not run"}: ${reason}`],
  );
  const untried = lines(record, ({ untried = {} }) => Object.entries(untried).map(([check, reason]) => `not tried: ${check}; ${reason}`));
  const against = record.against === undefined ? [] : [`- run against: ${record.against}`];
  const all = [...against, ...missing, ...untried];
  return all.length === 0 ? "" : `${provider}:\n\n${all.join("\n")}`;
}

function lines({ features: of }: ConformanceRecord, describe: (record: FeatureRecord) => readonly string[]): string[] {
  return featureNames.flatMap((feature: Feature) => {
    const record = of[feature];
    return (record ? describe(record) : []).map((text) => `- \`${feature}\`: ${text}`);
  });
}
