import type { MetricLabels, Metrics } from "@virtual-kubelet/kube-client";

/** Metrics that a test reads. */
export class CountingMetrics implements Metrics {
  readonly #counts: { readonly name: string; readonly labels: MetricLabels; readonly value: number }[] = [];

  count(name: string, labels: MetricLabels = {}, value: number = 1): void {
    this.#counts.push({ name, labels, value });
  }

  gauge(): void {}

  observe(): void {}

  /** Sum of a counter over all samples with these labels. */
  total(name: string, labels: MetricLabels = {}): number {
    const matching = this.#counts.filter(
      (sample) => sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
    );
    return matching.reduce((sum, { value }) => sum + value, 0);
  }
}
