import { decodedPath } from "../http/request-target.ts";
import type { Clock } from "@virtual-kubelet/clock";
import { addQuantities, formatQuantity, parseQuantity, rfc3339, type Quantity } from "@virtual-kubelet/kubernetes";
import { notFound } from "../errors/api-status-error.ts";
import type { ApiResponse } from "../http/api-request.ts";
import { json } from "../http/respond.ts";
import type { ApiObject, Kind } from "../kinds/kind.ts";
import { nodeKind } from "../kinds/node/node.ts";
import { podKind } from "../kinds/pod/pod.ts";
import type { Cluster } from "../rest/cluster.ts";
import { parseLabelSelector } from "../selectors/label-selector.ts";
import type { MetricsSource, ResourceUsage } from "./metrics-source.ts";

/** Dependencies of {@link metricsResponse}. */
export interface MetricsContext {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly source: MetricsSource;
}

const window = "30s";
const resourceGroup = "metrics.k8s.io";
const customGroup = "custom.metrics.k8s.io";
const externalGroup = "external.metrics.k8s.io";

/** Resources of `metrics.k8s.io`, for discovery. */
const resourceKinds: readonly Kind[] = [
  readOnlyKind({ group: resourceGroup, kind: "NodeMetrics", plural: "nodes", namespaced: false }),
  readOnlyKind({ group: resourceGroup, kind: "PodMetrics", plural: "pods", namespaced: true }),
];

function readOnlyKind(fields: Pick<Kind, "group" | "kind" | "plural" | "namespaced">): Kind {
  return { ...fields, version: "v1beta1", singular: "", schema: "", verbs: ["get", "list"] };
}

/** Kinds that discovery shows for the metrics of a source. */
export function metricsKinds({ container, node }: MetricsSource): readonly Kind[] {
  return container === undefined && node === undefined ? [] : resourceKinds;
}

/**
 * Serves the metrics APIs: `metrics.k8s.io/v1beta1` like metrics-server, `custom.metrics.k8s.io/v1beta2` and
 * `external.metrics.k8s.io/v1beta1` like their adapters.
 *
 * @returns `undefined` for paths below other groups, and for groups that the source does not have
 * @throws ApiStatusError 404 for an object without metrics
 */
export function metricsResponse(context: MetricsContext, path: string, query: URLSearchParams): ApiResponse | undefined {
  const [root, group, version, ...rest] = decodedPath(path).slice(1).split("/");
  const { source } = context;
  if (root !== "apis" || rest.length === 0) return undefined;
  if (group === resourceGroup && version === "v1beta1" && metricsKinds(source).length > 0) return resourceResponse(context, rest, query);
  if (group === customGroup && version === "v1beta2" && source.custom !== undefined) return customResponse(context, rest, query);
  if (group === externalGroup && version === "v1beta1" && source.external !== undefined) return externalResponse(context, rest, query);
  return undefined;
}

function resourceResponse(context: MetricsContext, path: readonly string[], query: URLSearchParams): ApiResponse | undefined {
  const isNamespaced = path[0] === "namespaces";
  const [namespace, plural, name] = isNamespaced ? [path[1], path[2], path[3]] : [undefined, path[0], path[1]];
  if (plural !== "pods" && plural !== "nodes") return undefined;
  const kind = plural === "pods" ? podKind : nodeKind;
  const metricsOf = plural === "pods" ? podMetrics : nodeMetrics;
  if (name !== undefined) {
    const object = context.cluster.get(kind, namespace, name);
    const metrics = object === undefined ? undefined : metricsOf(context, object);
    if (metrics === undefined) throw notFound({ group: resourceGroup, plural }, isNamespaced ? `${namespace}/${name}` : name);
    return json(200, metrics);
  }
  const selects = parseLabelSelector(query.get("labelSelector") ?? "");
  const items = context.cluster
    .list(kind, namespace)
    .filter(({ metadata }) => selects?.(metadata.labels ?? {}) ?? true)
    .flatMap((object) => metricsOf(context, object) ?? []);
  return json(200, {
    kind: plural === "pods" ? "PodMetricsList" : "NodeMetricsList",
    apiVersion: `${resourceGroup}/v1beta1`,
    metadata: {},
    items,
  });
}

function metadataOf({ metadata }: Readonly<ApiObject>, now: string): object {
  const { name, namespace, labels } = metadata;
  return {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    creationTimestamp: now,
    ...(labels === undefined ? {} : { labels }),
  };
}

/** Metrics of a running pod; `undefined` if one of its containers has not been measured. */
function podMetrics({ source, clock }: MetricsContext, pod: Readonly<ApiObject>): object | undefined {
  if (pod["status"].phase !== "Running") return undefined;
  const containers: readonly { readonly name: string }[] = pod["spec"].containers;
  const usages = containers.map(({ name }) => ({ name, usage: source.container?.(pod, name) }));
  if (usages.some(({ usage }) => usage === undefined)) return undefined;
  const timestamp = rfc3339(clock.now());
  return {
    kind: "PodMetrics",
    apiVersion: `${resourceGroup}/v1beta1`,
    metadata: metadataOf(pod, timestamp),
    timestamp,
    window,
    containers: usages,
  };
}

/** Metrics of a node: those of the source, otherwise the sum over its pods. */
function nodeMetrics(context: MetricsContext, node: Readonly<ApiObject>): object | undefined {
  const usage = context.source.node?.(node) ?? sumOfPods(context, node.metadata.name);
  if (usage === undefined) return undefined;
  const timestamp = rfc3339(context.clock.now());
  return { kind: "NodeMetrics", apiVersion: `${resourceGroup}/v1beta1`, metadata: metadataOf(node, timestamp), timestamp, window, usage };
}

function sumOfPods({ cluster, source }: MetricsContext, nodeName: string): ResourceUsage | undefined {
  if (source.container === undefined) return undefined;
  const total = new Map<string, Quantity>([
    ["cpu", parseQuantity("0")],
    ["memory", parseQuantity("0")],
  ]);
  for (const pod of cluster.list(podKind)) {
    if (pod["spec"].nodeName !== nodeName || pod["status"].phase !== "Running") continue;
    for (const { name } of pod["spec"].containers as readonly { readonly name: string }[])
      for (const [resource, text] of Object.entries(source.container(pod, name) ?? {}))
        total.set(resource, addQuantities(total.get(resource) ?? parseQuantity("0"), parseQuantity(text)));
  }
  return Object.fromEntries([...total].map(([resource, amount]) => [resource, formatQuantity(amount)]));
}

/** `namespaces/NS/RESOURCE/NAME/METRIC`, with `*` for all objects, or `namespaces/NS/metrics/METRIC` for the namespace itself. */
function customResponse(context: MetricsContext, path: readonly string[], query: URLSearchParams): ApiResponse | undefined {
  const [, namespace = "", resource = "", name = "", metric = ""] = path;
  if (path[0] !== "namespaces") return undefined;
  if (resource === "metrics") return valueList(context, name, objectsOf(context, "namespaces", undefined, namespace));
  const selects = parseLabelSelector(query.get("labelSelector") ?? "");
  const objects = objectsOf(context, resource, namespace, name).filter(({ metadata }) => selects?.(metadata.labels ?? {}) ?? true);
  return valueList(context, metric, objects);
}

function objectsOf({ cluster }: MetricsContext, resource: string, namespace: string | undefined, name: string): Readonly<ApiObject>[] {
  const [plural = "", ...group] = resource.split(".");
  const kind = cluster.kinds().find((one) => one.plural === plural && one.group === group.join("."));
  if (kind === undefined) return [];
  if (name === "*") return cluster.list(kind, namespace);
  const object = cluster.get(kind, namespace, name);
  return object === undefined ? [] : [object];
}

function valueList({ source, clock }: MetricsContext, metric: string, objects: readonly Readonly<ApiObject>[]): ApiResponse {
  const timestamp = rfc3339(clock.now());
  const items = objects.flatMap((object) => {
    const value = source.custom?.(metric, object);
    if (value === undefined) return [];
    const { name, namespace } = object.metadata;
    const describedObject = { kind: object.kind, apiVersion: object.apiVersion, name, ...(namespace === undefined ? {} : { namespace }) };
    return [{ describedObject, metric: { name: metric, selector: null }, timestamp, value }];
  });
  if (items.length === 0) throw notFound({ group: customGroup, plural: metric }, "");
  return json(200, { kind: "MetricValueList", apiVersion: `${customGroup}/v1beta2`, metadata: {}, items });
}

/** `namespaces/NS/METRIC`. */
function externalResponse({ source, clock }: MetricsContext, path: readonly string[], query: URLSearchParams): ApiResponse | undefined {
  const [root, namespace = "", metric = ""] = path;
  if (root !== "namespaces" || path.length !== 3) return undefined;
  const values = source.external?.(metric, namespace, query.get("labelSelector") ?? "") ?? [];
  const timestamp = rfc3339(clock.now());
  const items = values.map((value) => ({ metricName: metric, metricLabels: {}, timestamp, value }));
  return json(200, { kind: "ExternalMetricValueList", apiVersion: `${externalGroup}/v1beta1`, metadata: {}, items });
}
