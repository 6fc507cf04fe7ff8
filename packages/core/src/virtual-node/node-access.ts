import { codeOf, UnavailableError, UnsupportedError } from "@virtual-kubelet/errdefs";
import type { DeepReadonly, Metrics, Pod, PodStatus } from "@virtual-kubelet/kube-client";
import type { Duplex } from "node:stream";
import type { AttachIO, ContainerAccess, ContainerLogOptions, ContainerLogs, ExecResult } from "../provider/container-access.ts";
import type { MetricFamily, StatsSummary } from "../provider/pod-metrics.ts";
import type { PodRef } from "../provider/pod-ref.ts";
import type { ProviderPodList } from "../provider/pod-lifecycle.ts";
import type { Provider } from "../provider/provider.ts";

/** What a {@link NodeAccess} reaches once its node runs. */
export interface RunningNode {
  readonly provider: Provider;
  /** The pods bound to the node, as the API server has them. */
  readonly listPods: () => readonly DeepReadonly<Pod>[];
  /** What is known of a pod now, which the API server may not have heard yet. Default: what {@link listPods} says. */
  readonly statusOf?: ((pod: DeepReadonly<Pod>) => DeepReadonly<PodStatus> | undefined) | undefined;
  /** The pods that the back end holds. */
  readonly getPods: (signal: AbortSignal) => Promise<ProviderPodList>;
  /** Takes the secrets of the pod of that UID out of what the provider throws. */
  readonly redact: (uid: string, error: unknown) => unknown;
}

/** What {@link NodeAccess} is about. */
export interface NodeAccessOptions {
  readonly nodeName: string;
  readonly providerName: string;
  readonly metrics: Metrics;
}

/**
 * What the node's HTTPS server may see and do: the node's pods, and the provider's logs, commands, streams and figures.
 * It is there from the start: while the node does not run it holds no pods, and every call throws UnavailableError.
 * A call the provider has no method for throws UnsupportedError.
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

  /** The node runs from now on. @returns what says that it does no more */
  open(running: RunningNode): Disposable {
    this.#running = running;
    return {
      [Symbol.dispose]: () => {
        this.#running = undefined;
      },
    };
  }

  /** The pods bound to the node, with their last known status. */
  listPods(): readonly DeepReadonly<Pod>[] {
    return this.#running?.listPods() ?? [];
  }

  /** A pod of the node by its name, with its status as it is now; of several, the one that is not being deleted. */
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

  /** What the node's pods use, as the provider measures it. */
  getStatsSummary(signal: AbortSignal): Promise<StatsSummary> {
    return this.#call("getStatsSummary", "stats", undefined, (provider) => provider.getStatsSummary?.(signal));
  }

  /** The provider's own figures for `/metrics/resource`; `undefined` if they are to be made from its summary. */
  async getMetricsResource(signal: AbortSignal): Promise<readonly MetricFamily[] | undefined> {
    if (!this.#live().provider.getMetricsResource) return undefined;
    return this.#call("getMetricsResource", "stats", undefined, (provider) => provider.getMetricsResource?.(signal));
  }

  /** How the provider's probes have gone, for `/metrics/probes`; empty for one that makes none, or tells nothing of them. */
  async getMetricsProbes(signal: AbortSignal): Promise<readonly MetricFamily[]> {
    if (!this.#running?.provider.getMetricsProbes) return [];
    return this.#call("getMetricsProbes", "stats", undefined, (provider) => provider.getMetricsProbes?.(signal));
  }

  #live(): RunningNode {
    if (this.#running) return this.#running;
    throw new UnavailableError(`node ${this.nodeName} does not run yet, or not any more`);
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
 * The same values, with what their iteration throws as `show` has it: its text is shown to whoever reads. No generator,
 * for that would keep a `return` from a source whose `next` does not settle.
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
