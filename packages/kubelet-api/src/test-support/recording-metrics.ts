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

  #add(name: string, labels: MetricLabels = {}, value: number | undefined): void {
    const texts = Object.entries(labels).map(([label, text]) => `${label}=${JSON.stringify(text)}`);
    const series = texts.length > 0 ? `${name}{${texts.join(",")}}` : name;
    this.samples.push(value === undefined ? series : `${series} ${value}`);
  }
}
