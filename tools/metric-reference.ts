import type { MetricFamily, StatsSummary } from "../packages/core/src/provider/pod-metrics.ts";
import { nodeMetrics } from "../packages/metrics/src/node-metrics.ts";
import { metricCatalogue } from "../packages/metrics/src/prometheus/metric-catalogue.ts";
import { PrometheusMetrics } from "../packages/metrics/src/prometheus/prometheus-metrics.ts";
import { resourceMetrics } from "../packages/metrics/src/usage/resource-metrics.ts";
import { volumeMetrics } from "../packages/metrics/src/usage/volume-metrics.ts";
import { ProbeCounts } from "../packages/pod-runtime/src/probe/probe-counts.ts";
import { code, table } from "./markdown-table.ts";

/** A metric as the reference shows it. */
export interface ReferenceMetric {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
  readonly help: string;
}

const time = "2026-01-01T00:00:00Z";
const podRef = { namespace: "default", name: "web", uid: "u1" };
const used = {
  cpu: { time, usageCoreNanoSeconds: 1, usageNanoCores: 1 },
  memory: { time, workingSetBytes: 1 },
  swap: { time, swapUsageBytes: 1, swapAvailableBytes: 1 },
};
const fileSystem = { time, availableBytes: 1, capacityBytes: 1, usedBytes: 1, inodes: 1, inodesFree: 1, inodesUsed: 1 };

/** A pod of which everything has been measured, so that every metric has a sample. */
const pod: StatsSummary["pods"][number] = {
  podRef,
  startTime: time,
  containers: [{ name: "main", startTime: time, ...used }],
  volume: [{ name: "data", pvcRef: { name: "data", namespace: "default" }, ...fileSystem }],
  ...used,
};

/** Metrics of the packages at `/metrics`, in the order of their names. */
export function catalogueMetrics(): readonly ReferenceMetric[] {
  const described = Object.entries(metricCatalogue).map(([name, { type, labels, help }]) => ({ name, type, labels, help }));
  return sorted([...described, ...ofFamilies(nodeMetrics([{ nodeName: "node", listPods: () => [] }]))]);
}

/** Metrics of volumes at `/metrics`. */
export function volumeReference(): readonly ReferenceMetric[] {
  return ofFamilies(volumeMetrics([{ nodeName: "node", pods: [pod] }]));
}

/** Metrics at `/metrics/resource`. */
export function resourceReference(): readonly ReferenceMetric[] {
  const node = { nodeName: "node", startTime: time, ...used };
  return ofFamilies(resourceMetrics({ node, pods: [pod], incomplete: undefined }));
}

/** Metrics at `/metrics/probes`. */
export function probeReference(): readonly ReferenceMetric[] {
  const counts = new ProbeCounts();
  counts.count(podRef, { container: "main", kind: "liveness", outcome: "success", seconds: 1 });
  return ofFamilies(counts.families());
}

/** Metrics of the process at `/metrics`, as its library describes them; their labels depend on what the process has open. */
export async function processReference(): Promise<readonly ReferenceMetric[]> {
  using metrics = new PrometheusMetrics({ process: true });
  const text = await metrics.render();
  const found = [...text.matchAll(/^# HELP (\w+) (.+)\n# TYPE \w+ (\w+)$/gm)];
  const ofProcess = found.filter(([, name = ""]) => metricCatalogue[name] === undefined);
  return sorted(ofProcess.map(([, name = "", help = "", type = ""]) => ({ name, type, labels: [], help })));
}

/** A table of metrics for the guide. */
export function renderMetricTable(metrics: readonly ReferenceMetric[]): string {
  return table(
    ["Metric", "Type", "Labels", "Meaning"],
    metrics.map(({ name, type, labels, help }) => [code(name), type, labels.map(code).join(", "), help.replace(/^\[\w+\] /, "")]),
  );
}

function ofFamilies(families: readonly MetricFamily[]): readonly ReferenceMetric[] {
  return families.map(({ name, type, help, samples }) => {
    const labels = new Set(samples.flatMap((sample) => Object.keys(sample.labels ?? {})));
    return { name, type, labels: [...labels].filter((label) => label !== "le"), help };
  });
}

function sorted(metrics: readonly ReferenceMetric[]): readonly ReferenceMetric[] {
  return metrics.toSorted((one, other) => (one.name < other.name ? -1 : 1));
}
