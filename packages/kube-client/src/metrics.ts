/** Labels of a sample, by name; values must come from a bounded set (no pod names). */
export type MetricLabels = Readonly<Record<string, string>>;

/**
 * Where the packages count. They name what they count in Prometheus's terms; what collects and serves it is the
 * composition root's choice. Every method must be cheap and must not throw.
 */
export interface Metrics {
  /** Adds to a counter. @param value - default 1 */
  count(name: string, labels?: MetricLabels, value?: number): void;
  /** Sets a gauge. */
  gauge(name: string, value: number, labels?: MetricLabels): void;
  /** Adds an observation to a histogram; durations are in seconds. */
  observe(name: string, value: number, labels?: MetricLabels): void;
}

/** Counts nothing. */
export const noMetrics: Metrics = { count() {}, gauge() {}, observe() {} };
