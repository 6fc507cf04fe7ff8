import type { ApiObject } from "../kinds/kind.ts";

/** Usage of a container or a node, as quantities, such as `250m` of `cpu` and `64Mi` of `memory`. */
export type ResourceUsage = Readonly<Record<string, string>>;

/**
 * Metrics that a test gives to `kubectl top` and to the autoscalers. Each function is called when somebody asks, and returns `undefined` for
 * what has not been measured. A group of the metrics API is served if one of its functions is there.
 */
export interface MetricsSource {
  /** Usage of a container of a running pod; served as `metrics.k8s.io`. */
  readonly container?: (pod: Readonly<ApiObject>, container: string) => ResourceUsage | undefined;
  /** Usage of a node; served as `metrics.k8s.io`. */
  readonly node?: (node: Readonly<ApiObject>) => ResourceUsage | undefined;
  /** Value of a custom metric of a pod or another object, as a quantity; served as `custom.metrics.k8s.io`. */
  readonly custom?: (metric: string, object: Readonly<ApiObject>) => string | undefined;
  /** Values of a metric of something outside of the cluster, as quantities; served as `external.metrics.k8s.io`. */
  readonly external?: (metric: string, namespace: string, labelSelector: string) => readonly string[] | undefined;
}
