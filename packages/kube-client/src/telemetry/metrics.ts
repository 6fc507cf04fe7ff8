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
  /**
   * A gauge that is read whenever somebody looks, for what changes with time alone; several of one name and labels add
   * up. Absent where nobody looks.
   *
   * @param read - cheap, and must not throw
   * @returns what ends it
   */
  sampled?(name: string, read: () => number, labels?: MetricLabels): Disposable;
}

/** Counts nothing. */
export const noMetrics: Metrics = { count() {}, gauge() {}, observe() {} };
