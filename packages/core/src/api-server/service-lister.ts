import { untilAborted } from "@virtual-kubelet/async";
import type { Clock, Random } from "@virtual-kubelet/clock";
import {
  Reflector,
  resources,
  type DeepReadonly,
  type KubeClient,
  type Logger,
  type Metrics,
  type Service,
  type ServerHistory,
} from "@virtual-kubelet/kube-client";

export interface ServiceListerOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Tells when everything has to be listed anew. */
  readonly history?: ServerHistory | undefined;
}

/**
 * The cluster's services, for the variables of pods. Watched from the first call of {@link list}, so that a provider
 * that never requests an environment costs no watch.
 */
export class ServiceLister {
  readonly #options: ServiceListerOptions;
  readonly #stop = new AbortController();
  #reflector: Reflector<Service> | undefined;
  #running: Promise<void> | undefined;

  constructor(options: ServiceListerOptions) {
    this.#options = options;
  }

  /** Returns all services of a namespace, once they are known. */
  async list(namespace: string, signal: AbortSignal): Promise<readonly DeepReadonly<Service>[]> {
    this.#reflector ??= this.#start();
    await untilAborted(this.#reflector.synced, signal);
    return [...this.#reflector.store.list()].filter((service) => service.metadata?.namespace === namespace);
  }

  /** Ends the watch, if there is one. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  #start(): Reflector<Service> {
    const reflector = new Reflector<Service>({ ...this.#options, resource: resources.services, query: {} });
    this.#running = reflector.run(this.#stop.signal);
    return reflector;
  }
}
