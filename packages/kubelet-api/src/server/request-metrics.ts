import type { Clock } from "@virtual-kubelet/clock";
import type { MetricLabels, Metrics } from "@virtual-kubelet/kube-client";

/** First path segments that are label values of their own. */
const roots: ReadonlySet<string> = new Set([
  "attach",
  "checkpoint",
  "configz",
  "containerLogs",
  "debug",
  "exec",
  "flagz",
  "healthz",
  "logs",
  "metrics",
  "pods",
  "portForward",
  "run",
  "runningpods",
  "stats",
  "statusz",
]);

/** Paths below `/metrics` that are label values of their own. */
const metricsPaths: ReadonlySet<string> = new Set(["cadvisor", "probes", "resource", "slis"]);

/** What a kubelet treats as long-running. It compares with `portforward` in lower case, and so never matches port-forwards. */
const longRunning: ReadonlySet<string> = new Set(["exec", "attach", "portforward", "debug"]);

const methods: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "CONNECT", "OPTIONS", "TRACE"]);

/**
 * Counts requests under the kubelet's metric names. The set of label values is bounded.
 *
 * Source: kubernetes v1.36.3 pkg/kubelet/server/server.go, `InstrumentedServeHTTP` and its buckets.
 */
export class RequestMetrics {
  readonly #metrics: Metrics;
  readonly #clock: Clock;
  readonly #inflight = new Map<string, number>();

  constructor({ metrics, clock }: { readonly metrics: Metrics; readonly clock: Clock }) {
    this.#metrics = metrics;
    this.#clock = clock;
  }

  /**
   * Counts a request that has started.
   *
   * @param segments - path segments without `/nodes/NAME`; empty if the path is malformed
   * @returns disposable that records the end of the request
   */
  begin(method: string, segments: readonly string[]): Disposable {
    const path = pathBucket(segments);
    const labels = {
      method: methods.has(method) ? method : "other",
      path,
      server_type: "readwrite",
      long_running: String(longRunning.has(path)),
    };
    const startedMs = this.#clock.monotonic();
    this.#metrics.count("kubelet_http_requests_total", labels);
    this.#moveInflight(labels, 1);
    return {
      [Symbol.dispose]: () => {
        this.#moveInflight(labels, -1);
        this.#metrics.observe("kubelet_http_requests_duration_seconds", (this.#clock.monotonic() - startedMs) / 1000, labels);
      },
    };
  }

  /** Counts a request for streaming over a WebSocket. @param subresource - `exec`, `attach` or `portforward` */
  countWebSocket(subresource: string): void {
    this.#metrics.count("kubelet_websocket_streaming_requests_total", { subresource });
  }

  #moveInflight(labels: MetricLabels, by: number): void {
    const key = `${labels["method"]} ${labels["path"]}`;
    const now = (this.#inflight.get(key) ?? 0) + by;
    this.#inflight.set(key, now);
    this.#metrics.gauge("kubelet_http_inflight_requests", now, labels);
  }
}

function pathBucket([root = "", next = ""]: readonly string[]): string {
  if (root === "metrics" && next !== "") return metricsPaths.has(next) ? `metrics/${next}` : "other";
  return roots.has(root) ? root : "other";
}
