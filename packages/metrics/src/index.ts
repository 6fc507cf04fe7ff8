/** Resource usage of pods in a kubelet's formats, and the program's own metrics and traces. @packageDocumentation */
export { metricsContentType, renderMetrics, renderResourceMetrics } from "./prometheus/exposition.ts";
export { metricCatalogue, type MetricDefinition } from "./prometheus/metric-catalogue.ts";
export { nodeMetrics, type CountedNode } from "./node-metrics.ts";
export {
  cpuAndMemoryOnly,
  kubeletSummary,
  NodeStatsReader,
  type FullStatsSummary,
  type NodeStatsReaderOptions,
} from "./usage/node-stats.ts";
export { openTelemetryTracer } from "./open-telemetry-tracer.ts";
export { PrometheusMetrics, type PrometheusMetricsOptions } from "./prometheus/prometheus-metrics.ts";
export { resourceMetrics, resourceScrapeError } from "./usage/resource-metrics.ts";
export { volumeMetrics, type MeasuredVolumes } from "./usage/volume-metrics.ts";
