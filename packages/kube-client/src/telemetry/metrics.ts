/** Labels of a sample, by name; values must come from a bounded set (no pod names). */
export type MetricLabels = Readonly<Record<string, string>>;

/**
 * Metrics of all packages, with Prometheus's conventions for names. Collecting and serving them is the
 * composition root's choice. Every method must be cheap and must not throw.
 */
export interface Metrics {
  /** Adds to a counter. @param value - default 1 */
  count(name: string, labels?: MetricLabels, value?: number): void;
  /** Sets a gauge. */
  gauge(name: string, value: number, labels?: MetricLabels): void;
  /** Adds an observation to a histogram; durations are in seconds. */
  observe(name: string, value: number, labels?: MetricLabels): void;
  /**
   * Registers a gauge that is read at each scrape, for values that change with time; several with the same name and labels are added
   * up. Absent if there are no scrapes.
   *
   * @param read - cheap, and must not throw
   * @returns disposing of it removes the gauge
   */
  sampled?(name: string, read: () => number, labels?: MetricLabels): Disposable;
}

/** Counts nothing. */
export const noMetrics: Metrics = { count() {}, gauge() {}, observe() {} };
