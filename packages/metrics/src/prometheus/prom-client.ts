// The build replaces this module by one that contains the library: 3 MB that it depends on are for summaries, which this package does not use.
export { collectDefaultMetrics, Counter, Gauge, Histogram, Registry, type Metric } from "prom-client";
