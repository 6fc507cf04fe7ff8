import { codeOf, UnavailableError, UnsupportedError } from "@virtual-kubelet/errdefs";
import type { DeepReadonly, Metrics, Pod, PodStatus } from "@virtual-kubelet/kube-client";
import type { Duplex } from "node:stream";
import type { AttachIO, ContainerAccess, ContainerLogOptions, ContainerLogs, ExecResult } from "../provider/container-access.ts";
import type { MetricFamily, StatsSummary } from "../provider/pod-metrics.ts";
import type { PodRef } from "../provider/pod-ref.ts";
import type { ProviderPodList } from "../provider/pod-lifecycle.ts";
import type { Provider } from "../provider/provider.ts";

/** A running node, as {@link NodeAccess} uses it. */
export interface RunningNode {
  readonly provider: Provider;
  /** Returns the API server's pods that are bound to the node. */
  readonly listPods: () => readonly DeepReadonly<Pod>[];
  /** Returns a pod's current status, which may not have reached the API server. Default: the status in {@link listPods}. */
  readonly statusOf?: ((pod: DeepReadonly<Pod>) => DeepReadonly<PodStatus> | undefined) | undefined;
  /** The pods that the back end holds. */
  readonly getPods: (signal: AbortSignal) => Promise<ProviderPodList>;
  /** Removes the secrets of the pod with that UID from the provider's error. */
  readonly redact: (uid: string, error: unknown) => unknown;
}

/** Options of {@link NodeAccess}. */
export interface NodeAccessOptions {
  readonly nodeName: string;
  readonly providerName: string;
  readonly metrics: Metrics;
}

/**
 * The node as its HTTPS server uses it: the node's pods, and the provider's logs, commands, streams and figures.
 * It exists from the start: while the node does not run it has no pods, and every call throws UnavailableError.
 * A call for which the provider has no method throws UnsupportedError.
 */
export class NodeAccess implements ContainerAccess {
  readonly nodeName: string;
  readonly #providerName: string;
  readonly #metrics: Metrics;
  #running: RunningNode | undefined;

  constructor({ nodeName, providerName, metrics }: NodeAccessOptions) {
    this.nodeName = nodeName;
    this.#providerName = providerName;
    this.#metrics = metrics;
  }

  /** Marks the node as running. @returns disposing of it ends that */
  open(running: RunningNode): Disposable {
    this.#running = running;
    return {
      [Symbol.dispose]: () => {
        this.#running = undefined;
      },
    };
  }

  /** Returns the pods bound to the node, with their last known status. */
  listPods(): readonly DeepReadonly<Pod>[] {
    return this.#running?.listPods() ?? [];
  }

  /** Finds a pod of the node by name, with its current status; of several, the one that is not being deleted. */
  findPod(namespace: string, name: string): DeepReadonly<Pod> | undefined {
    const pods = this.listPods().filter(({ metadata }) => metadata?.name === name && metadata.namespace === namespace);
    const pod = pods.find(({ metadata }) => !metadata?.deletionTimestamp) ?? pods[0];
    const status = pod && this.#running?.statusOf?.(pod);
    return status ? { ...pod, status } : pod;
  }

  /** The pods that the back end holds. */
  getPods(signal: AbortSignal): Promise<ProviderPodList> {
    return this.#live().getPods(signal);
  }

  async getContainerLogs(pod: PodRef, container: string, options: ContainerLogOptions, signal: AbortSignal): Promise<ContainerLogs> {
    const { redact } = this.#live();
    const logs = await this.#call("getContainerLogs", "logs", pod.uid, (provider) =>
      provider.getContainerLogs?.(pod, container, options, signal),
    );
    const redacted = <T>(chunks: AsyncIterable<T>): AsyncIterable<T> => withErrors(chunks, (error) => redact(pod.uid, error));
    const { data, live, timestamps, applied } = logs;
    return { data: redacted(data), live: live && redacted(live), timestamps, applied };
  }

  runInContainer(pod: PodRef, container: string, command: readonly string[], io: AttachIO, signal: AbortSignal): Promise<ExecResult> {
    return this.#call("runInContainer", "exec", pod.uid, (provider) => provider.runInContainer?.(pod, container, command, io, signal));
  }

  attachToContainer(pod: PodRef, container: string, io: AttachIO, signal: AbortSignal): Promise<void> {
    return this.#call("attachToContainer", "attach", pod.uid, (provider) => provider.attachToContainer?.(pod, container, io, signal));
  }

  portForward(pod: PodRef, port: number, stream: Duplex, signal: AbortSignal): Promise<void> {
    return this.#call("portForward", "port-forward", pod.uid, (provider) => provider.portForward?.(pod, port, stream, signal));
  }

  /** Returns the provider's figures of the node's pods. */
  getStatsSummary(signal: AbortSignal): Promise<StatsSummary> {
    return this.#call("getStatsSummary", "stats", undefined, (provider) => provider.getStatsSummary?.(signal));
  }

  /** Returns the provider's own figures for `/metrics/resource`; `undefined` if they have to be derived from its summary. */
  async getMetricsResource(signal: AbortSignal): Promise<readonly MetricFamily[] | undefined> {
    if (!this.#live().provider.getMetricsResource) return undefined;
    return this.#call("getMetricsResource", "stats", undefined, (provider) => provider.getMetricsResource?.(signal));
  }

  /** Returns the results of the provider's probes, for `/metrics/probes`; empty for a provider without probes. */
  async getMetricsProbes(signal: AbortSignal): Promise<readonly MetricFamily[]> {
    if (!this.#running?.provider.getMetricsProbes) return [];
    return this.#call("getMetricsProbes", "stats", undefined, (provider) => provider.getMetricsProbes?.(signal));
  }

  #live(): RunningNode {
    if (this.#running) return this.#running;
    throw new UnavailableError(`node ${this.nodeName} is not running: it has not started yet, or has stopped`);
  }

  async #call<T>(
    method: string,
    feature: string,
    uid: string | undefined,
    start: (provider: Provider) => Promise<T> | undefined,
  ): Promise<T> {
    const { provider, redact } = this.#live();
    let code = "OK";
    try {
      const call = start(provider);
      if (call) return await call;
      throw new UnsupportedError(`provider ${this.#providerName} does not support ${feature}`);
    } catch (error) {
      code = codeOf(error) ?? "UNKNOWN";
      throw uid === undefined ? error : redact(uid, error);
    } finally {
      this.#metrics.count("vk_provider_calls_total", { method, code });
    }
  }
}

/**
 * Maps the errors of an iteration with `show`, because readers see their text. Not a generator,
 * which would not pass `return` on to a source whose `next` does not settle.
 */
function withErrors<T>(source: AsyncIterable<T>, show: (error: unknown) => unknown): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator](): AsyncIterator<T> {
      const shown = async <R>(call: () => Promise<R>): Promise<R> => {
        try {
          return await call();
        } catch (error) {
          throw show(error);
        }
      };
      const iterator = source[Symbol.asyncIterator]();
      return {
        next: () => shown(() => iterator.next()),
        return: (value?: unknown) => shown(async () => (await iterator.return?.(value)) ?? { done: true, value: undefined }),
      };
    },
  };
}
