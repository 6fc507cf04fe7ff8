import type { MetricLabels, Metrics } from "@virtual-kubelet/kube-client";

/** Keeps the recorded metrics, one line each: `name{label="value"} value`, without a value for a count of one. */
export class RecordingMetrics implements Metrics {
  readonly samples: string[] = [];

  count(name: string, labels?: MetricLabels, by?: number): void {
    this.#add(name, labels, by);
  }

  gauge(name: string, value: number, labels?: MetricLabels): void {
    this.#add(name, labels, value);
  }

  observe(name: string, value: number, labels?: MetricLabels): void {
    this.#add(name, labels, value);
  }

  #add(name: string, labels: MetricLabels | undefined, value: number | undefined): void {
    const series = seriesOf(name, labels);
    this.samples.push(value === undefined ? series : `${series} ${value}`);
  }
}

/** As {@link RecordingMetrics}, with scrapes. */
export class ScrapedMetrics extends RecordingMetrics {
  readonly #series = new Set<{ readonly series: string; readonly read: () => number }>();

  sampled(name: string, read: () => number, labels?: MetricLabels): Disposable {
    const entry = { series: seriesOf(name, labels), read };
    this.#series.add(entry);
    return { [Symbol.dispose]: () => void this.#series.delete(entry) };
  }

  /** The series that are read at each scrape, as they are now. */
  scrape(): string[] {
    return [...this.#series].map(({ series, read }) => `${series} ${read()}`);
  }
}

function seriesOf(name: string, labels: MetricLabels = {}): string {
  const texts = Object.entries(labels).map(([label, text]) => `${label}=${JSON.stringify(text)}`);
  return texts.length > 0 ? `${name}{${texts.join(",")}}` : name;
}
