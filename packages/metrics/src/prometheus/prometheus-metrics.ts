import type { MetricLabels, Metrics } from "@virtual-kubelet/kube-client";
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry, type Metric } from "./prom-client.ts";
import { CounterCells } from "./counter-cells.ts";
import { HistogramCells } from "./histogram-cells.ts";
import { metricCatalogue, type MetricDefinition } from "./metric-catalogue.ts";

/** How often the delay of the event loop is measured, in milliseconds. By default it is every 10 ms, which is most of what an idle node does. */
const eventLoopSampleMs = 100;

/** Options of Prometheus metrics. */
export interface PrometheusMetricsOptions {
  /**
   * Include metrics of the process: CPU, memory, event loop, garbage collection. The delay of the event loop is measured every 100 ms, and its
   * values include that interval. Default: false.
   */
  readonly process?: boolean | undefined;
}

type Collector = CounterCells | Gauge | HistogramCells;

/** One object, because a look-up that gets the object of the one before is cheaper. */
const noLabels: MetricLabels = {};

interface MetricHead {
  readonly name: string;
  readonly help: string;
  readonly labelNames: string[];
  readonly registers: Registry[];
}

/** Part of a gauge that is evaluated on each scrape. */
interface Sample {
  readonly labels: MetricLabels;
  readonly read: () => number;
}

/**
 * Metrics of the packages as a Prometheus registry. A metric is created by its first use, with the labels of {@link metricCatalogue}, or those of
 * that use if the catalogue does not have it. Invalid uses (other labels, a decreasing counter, an invalid name) are dropped and counted in `vk_metrics_dropped_total`.
 */
export class PrometheusMetrics implements Metrics, Disposable {
  readonly #registry = new Registry();
  readonly #collectors = new Map<string, Collector>();
  readonly #samples = new Map<string, Set<Sample>>();
  readonly #dropped = new Counter({
    name: "vk_metrics_dropped_total",
    help: metricCatalogue["vk_metrics_dropped_total"]?.help ?? "",
    labelNames: ["name"],
    registers: [this.#registry],
  });

  constructor(options: PrometheusMetricsOptions = {}) {
    if (options.process) collectDefaultMetrics({ register: this.#registry, eventLoopMonitoringPrecision: eventLoopSampleMs });
    // A counter that appears with its first event hides that event from rate() and increase().
    for (const [name, { type, labels }] of Object.entries(metricCatalogue))
      if (type === "counter" && labels.length === 0) this.count(name, {}, 0);
  }

  count(name: string, labels: MetricLabels = noLabels, value = 1): void {
    try {
      const collector = this.#collector(name, "counter", labels);
      if (collector instanceof CounterCells) collector.add(labels, value);
    } catch {
      this.#dropped.inc({ name });
    }
  }

  gauge(name: string, value: number, labels: MetricLabels = noLabels): void {
    try {
      const collector = this.#collector(name, "gauge", labels);
      if (collector instanceof Gauge) collector.set(labels, value);
    } catch {
      this.#dropped.inc({ name });
    }
  }

  observe(name: string, value: number, labels: MetricLabels = noLabels): void {
    try {
      const collector = this.#collector(name, "histogram", labels);
      if (collector instanceof HistogramCells) collector.observe(labels, value);
    } catch {
      this.#dropped.inc({ name });
    }
  }

  sampled(name: string, read: () => number, labels: MetricLabels = {}): Disposable {
    let samples = this.#samples.get(name);
    if (!samples) {
      samples = this.#createSampled(name, Object.keys(labels));
      this.#samples.set(name, samples);
    }
    const sample: Sample = { labels, read };
    samples.add(sample);
    return { [Symbol.dispose]: () => void samples.delete(sample) };
  }

  /** Renders all metrics in Prometheus's text format 0.0.4. */
  render(): Promise<string> {
    return this.#registry.metrics();
  }

  /** Removes all metrics and stops observing the process. */
  [Symbol.dispose](): void {
    this.#registry.clear();
    this.#collectors.clear();
    this.#samples.clear();
  }

  #createSampled(name: string, labelNames: readonly string[]): Set<Sample> {
    const samples = new Set<Sample>();
    const gauge = new Gauge({
      ...this.#describe(name, labelNames),
      collect: () => {
        gauge.reset();
        for (const { labels, read } of samples) gauge.inc(labels, read());
      },
    });
    return samples;
  }

  #collector(name: string, type: MetricDefinition["type"], labels: MetricLabels): Collector {
    let collector = this.#collectors.get(name);
    if (!collector) {
      collector = this.#create(name, type, Object.keys(labels));
      this.#collectors.set(name, collector);
    }
    return collector;
  }

  #create(name: string, type: MetricDefinition["type"], labelNames: readonly string[]): Collector {
    const options = this.#describe(name, labelNames);
    const buckets = metricCatalogue[name]?.buckets;
    switch (type) {
      case "counter":
        return this.#createCounter(options);
      case "gauge":
        return new Gauge(options);
      case "histogram":
        return this.#createHistogram(options, buckets);
      default:
        return type satisfies never;
    }
  }

  // A collector of prom-client that is registered nowhere rejects invalid names: one invalid line would make Prometheus reject the whole scrape.

  #createCounter(head: MetricHead): CounterCells {
    void new Counter({ ...head, registers: [] });
    const cells = new CounterCells(head.name, head.labelNames);
    this.#register(head, "counter", cells);
    return cells;
  }

  #createHistogram(head: MetricHead, buckets: readonly number[] | undefined): HistogramCells {
    void new Histogram({ ...head, registers: [] });
    const cells = new HistogramCells(head.name, head.labelNames, buckets);
    this.#register(head, "histogram", cells);
    return cells;
  }

  #register({ name, help }: MetricHead, type: MetricDefinition["type"], cells: { lines(): readonly object[] }): void {
    // The registry calls nothing but this.
    const metric = { name, help, type, get: async () => ({ name, help, type, values: cells.lines() }) };
    this.#registry.registerMetric(metric as unknown as Metric);
  }

  #describe(name: string, labelNames: readonly string[]): MetricHead {
    const { help = name.replaceAll("_", " "), labels = labelNames } = metricCatalogue[name] ?? {};
    return { name, help, labelNames: [...labels], registers: [this.#registry] };
  }
}
