import { milliUnits, parseQuantity } from "@virtual-kubelet/kubernetes";
import type { Answer, ApiResponse } from "../../http/api-request.ts";
import type { Steps } from "../../rest/steps.ts";
import { decodeMetrics, type MetricsList } from "./decode-metrics.ts";

/** A measured value of a pod. */
export interface PodMetric {
  readonly timestampMs: number;
  /** Milliseconds over which the value was measured. */
  readonly windowMs: number;
  /** In thousandths. */
  readonly milli: number;
}

/** Values by name of the pod. */
export type PodMetrics = ReadonlyMap<string, PodMetric>;

/** Sends a GET request for a path of the server itself, which also forwards to aggregated API servers. */
export type MetricsRequest = (path: string) => Answer;

/** A metrics API cannot be read. The message is that of client-go. */
export class MetricsError extends Error {
  /** What the controller puts before the message where it aggregates the errors of all metrics, but not in events. */
  readonly context: string;

  constructor(message: string, context: string = "") {
    super(message);
    this.context = context;
  }
}

const defaultWindowMs = 60_000;

/**
 * Reads the metrics APIs as kube-controller-manager does: `metrics.k8s.io`, `custom.metrics.k8s.io` and `external.metrics.k8s.io`.
 * Source: Kubernetes v1.36.3 pkg/controller/podautoscaler/metrics/client.go and k8s.io/metrics v0.36.3 pkg/client.
 */
export class MetricsClient {
  readonly #request: MetricsRequest;

  constructor(request: MetricsRequest) {
    this.#request = request;
  }

  /** Usage of pods, or of one container of each. @throws MetricsError */
  *resource(resource: string, namespace: string, { selector, container }: { selector: string; container?: string }): Steps<PodMetrics> {
    const path = `/apis/metrics.k8s.io/v1beta1/namespaces/${namespace}/pods?labelSelector=${encodeURIComponent(selector)}`;
    const prefix = "unable to fetch metrics from resource metrics API: ";
    const items = yield* this.#items("PodMetricsList", path, { prefix, what: "get pods.metrics.k8s.io" });
    if (items.length === 0) throw new MetricsError("no metrics returned from resource metrics API");
    return new Map(items.flatMap((item) => podUsage(item as RawPodMetrics, resource, container)));
  }

  /** Values of a custom metric of pods. @throws MetricsError */
  *pods(metric: string, namespace: string, selectors: { selector: string; metricSelector: string }): Steps<PodMetrics> {
    const items = yield* this.#custom(`namespaces/${namespace}/pods/*/${metric}`, metric, selectors);
    if (items.length === 0) throw new MetricsError("no metrics returned from custom metrics API");
    return new Map(
      items.map(({ describedObject, timestamp = "", windowSeconds, value }) => {
        const windowMs = windowSeconds === undefined ? defaultWindowMs : windowSeconds * 1000;
        return [describedObject?.name ?? "", { timestampMs: Date.parse(timestamp), windowMs, milli: milliOf(value) }];
      }),
    );
  }

  /** Value of a custom metric of an object, in thousandths. @param resource - such as `services` or `ingresses.networking.k8s.io` @throws MetricsError */
  *object(metric: string, namespace: string, target: { resource: string; name: string; metricSelector: string }): Steps<number> {
    const { resource, name, metricSelector } = target;
    const path =
      resource === "namespaces" ? `namespaces/${namespace}/metrics/${metric}` : `namespaces/${namespace}/${resource}/${name}/${metric}`;
    const items = yield* this.#custom(path, metric, { selector: "", metricSelector });
    if (items.length !== 1)
      throw new MetricsError(
        `unable to fetch metrics from custom metrics API: the custom metrics API server returned ${items.length} results when we asked for exactly one`,
      );
    return milliOf(items[0]?.value);
  }

  /** Values of an external metric, in thousandths. @throws MetricsError */
  *external(metric: string, namespace: string, selector: string): Steps<readonly number[]> {
    const path = `/apis/external.metrics.k8s.io/v1beta1/namespaces/${namespace}/${metric}?labelSelector=${encodeURIComponent(selector)}`;
    const prefix = "unable to fetch metrics from external metrics API: ";
    const items = yield* this.#items("ExternalMetricValueList", path, { prefix, what: `get ${metric}.external.metrics.k8s.io` });
    if (items.length === 0) throw new MetricsError("no metrics returned from external metrics API");
    return items.map((item) => milliOf((item as RawValue).value));
  }

  *#custom(
    path: string,
    metric: string,
    { selector, metricSelector }: { selector: string; metricSelector: string },
  ): Steps<readonly RawValue[]> {
    const query = `labelSelector=${encodeURIComponent(selector)}&metricLabelSelector=${encodeURIComponent(metricSelector)}`;
    const prefix = "unable to fetch metrics from custom metrics API: ";
    const address = `/apis/custom.metrics.k8s.io/v1beta2/${path}?${query}`;
    return (yield* this.#items("MetricValueList", address, { prefix, what: `get ${metric}.custom.metrics.k8s.io` })) as RawValue[];
  }

  *#items(list: MetricsList, path: string, { prefix, what }: { prefix: string; what: string }): Steps<readonly unknown[]> {
    const response = yield* settle(this.#request(path));
    const text = yield* bodyOf(response);
    if (response.status >= 300) {
      const message = messageIn(text);
      throw new MetricsError(`${prefix}${message === undefined || message === noResource ? `${noResource} (${what})` : message}`);
    }
    const decoded = decodeMetrics(list, text);
    if ("problem" in decoded) throw new MetricsError(`${prefix}${decoded.problem}`);
    return decoded.items;
  }
}

const noResource = "the server could not find the requested resource";

interface RawPodMetrics {
  readonly metadata?: { readonly name?: string };
  readonly timestamp?: string;
  readonly window?: string;
  readonly containers?: readonly { readonly name?: string; readonly usage?: Readonly<Record<string, string>> }[];
}

interface RawValue {
  readonly describedObject?: { readonly name?: string };
  readonly timestamp?: string;
  readonly windowSeconds?: number;
  readonly value?: string;
}

function podUsage(
  { metadata, timestamp = "", window = "", containers = [] }: RawPodMetrics,
  resource: string,
  container?: string,
): [string, PodMetric][] {
  const measured = container === undefined ? containers : containers.filter(({ name }) => name === container);
  const amounts = measured.map(({ usage }) => usage?.[resource]);
  if (amounts.length === 0 || amounts.includes(undefined)) return [];
  const milli = amounts.reduce<number>((sum, amount) => sum + milliOf(amount), 0);
  return [[metadata?.name ?? "", { timestampMs: Date.parse(timestamp), windowMs: durationMs(window), milli }]];
}

function milliOf(text: string | undefined): number {
  return Number(milliUnits(parseQuantity(text ?? "0")));
}

/** Milliseconds of a Go duration such as `1m30s`; 0 for others. */
function durationMs(text: string): number {
  const units: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };
  return [...text.matchAll(/(\d+(?:\.\d+)?)(ms|h|m|s)/g)].reduce(
    (sum, [, count = "0", unit = "s"]) => sum + Number(count) * (units[unit] ?? 0),
    0,
  );
}

/** Message of a Status; `undefined` if the text is none. */
function messageIn(text: string): string | undefined {
  try {
    const { message } = (JSON.parse(text) ?? {}) as { readonly message?: unknown };
    return typeof message === "string" ? message : undefined;
  } catch {
    return undefined;
  }
}

/** Waits for an answer only if it takes time. */
function* settle(answer: Answer): Steps<ApiResponse> {
  if (!(answer instanceof Promise)) return answer;
  let settled: ApiResponse | undefined;
  yield answer.then((response) => void (settled = response));
  if (settled === undefined) throw new MetricsError("no response");
  return settled;
}

function* bodyOf({ body }: ApiResponse): Steps<string> {
  if (body instanceof Uint8Array) return Buffer.from(body).toString();
  const chunks: Uint8Array[] = [];
  const read = async (): Promise<void> => {
    for await (const chunk of body) chunks.push(chunk);
  };
  yield read();
  return Buffer.concat(chunks).toString();
}
