import type { Clock } from "@virtual-kubelet/clock";
import type { PodStats } from "@virtual-kubelet/core";
import type { KubeClient } from "@virtual-kubelet/kube-client";
import { readKubeletSummary } from "./kubelet-summary.ts";
import { KeptAnswers } from "./kept-answers.ts";
import { readPodMetrics, type PodUsage } from "./metrics-api.ts";

/** Figures of one far cluster, which all virtual nodes that use it read together. */
export class FarFigures {
  readonly #kubelets: KeptAnswers<ReadonlyMap<string, PodStats>>;
  readonly #metrics: KeptAnswers<ReadonlyMap<string, PodUsage>>;

  constructor(client: Pick<KubeClient, "raw">, clock: Clock) {
    const get = (path: string, signal: AbortSignal): Promise<unknown> => client.raw("GET", path, undefined, { signal });
    this.#kubelets = new KeptAnswers(clock, async (path, signal) => readKubeletSummary(await get(path, signal)));
    this.#metrics = new KeptAnswers(clock, async (path, signal) => readPodMetrics(await get(path, signal)));
  }

  /** Figures of the pods of a far node, by their UIDs there. @throws ForbiddenError, UnavailableError, … */
  ofFarNode(name: string): Promise<ReadonlyMap<string, PodStats>> {
    return this.#kubelets.get(`/api/v1/nodes/${encodeURIComponent(name)}/proxy/stats/summary`);
  }

  /**
   * Figures of the metrics API, by `namespace/name` of the far pods.
   *
   * @param namespace - default: all
   * @throws ForbiddenError; NotFoundError if the far cluster has no metrics API; UnavailableError, …
   */
  ofMetricsApi(labelSelector: string, namespace: string | undefined): Promise<ReadonlyMap<string, PodUsage>> {
    return this.#metrics.get(`${metricsPath(namespace)}?${new URLSearchParams({ labelSelector }).toString()}`);
  }
}

/** Path of the metrics API's pods. @param namespace - default: all */
export function metricsPath(namespace: string | undefined): string {
  const where = namespace === undefined ? "" : `/namespaces/${encodeURIComponent(namespace)}`;
  return `/apis/metrics.k8s.io/v1beta1${where}/pods`;
}

/** Figures of all far clusters of a process. */
export class SharedFigures {
  readonly #byCluster = new WeakMap<object, FarFigures>();

  /** @param cluster - whose figures they are */
  of(cluster: { readonly connection: { readonly client: Pick<KubeClient, "raw"> } }, clock: Clock): FarFigures {
    const known = this.#byCluster.get(cluster) ?? new FarFigures(cluster.connection.client, clock);
    this.#byCluster.set(cluster, known);
    return known;
  }
}
