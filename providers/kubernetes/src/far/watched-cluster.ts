import { SingleFlight } from "@virtual-kubelet/async";
import type { Clock, Random } from "@virtual-kubelet/clock";
import { isForbidden } from "@virtual-kubelet/errdefs";
import {
  Reflector,
  resources,
  ServerHistory,
  type ConfigMap,
  type DeepReadonly,
  type Logger,
  type Metrics,
  type Node,
  type OwnerReference,
  type Pod,
  type Store,
  type StoreChange,
} from "@virtual-kubelet/kube-client";
import { ownerSelector, tagLabels, type FarOwner } from "../identity/tags.ts";
import type { FarCluster, FarConnection } from "./far-cluster.ts";
import { compactPod } from "./compact-pod.ts";
import { OwnerObjects } from "./owner-objects.ts";
import { PodIndex } from "./pod-index.ts";

/** Time for which a successful ping counts for all nodes that share the cluster. */
const pingCountsMs = 2_000;

/** What {@link WatchedCluster} needs. */
export interface WatchedClusterOptions {
  readonly connection: FarConnection;
  /** Id of the home cluster. */
  readonly clusterId: string;
  /** The only namespace with pods; `undefined`: all are watched. */
  readonly namespace: string | undefined;
  /** Whether missing namespaces are created. */
  readonly createsNamespaces: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** A {@link FarCluster} that follows the far API server from its creation until it is disposed. */
export class WatchedCluster implements FarCluster {
  readonly connection: FarConnection;
  readonly history: ServerHistory;
  readonly #options: WatchedClusterOptions;
  readonly #abort = new AbortController();
  readonly #podReflector: Reflector<Pod>;
  readonly #ownerReflector: Reflector<ConfigMap>;
  readonly #owners: OwnerObjects;
  readonly #index: PodIndex;
  readonly #runs: Promise<void>[];
  readonly #pings = new SingleFlight<void>();
  #pingedUntilMs = -Infinity;
  #nodes: Promise<Store<Node> | undefined> | undefined;

  constructor(options: WatchedClusterOptions) {
    const { connection, clusterId, namespace } = options;
    this.connection = connection;
    this.history = new ServerHistory({ server: "the far cluster", logger: options.logger });
    this.#options = options;
    const ofCluster = ownerSelector({ clusterId });
    const shared = { ...options, client: connection.client, history: this.history };
    this.#podReflector = new Reflector({
      ...shared,
      resource: resources.pods,
      query: { namespace, labelSelector: ofCluster },
      compact: compactPod,
    });
    this.#ownerReflector = new Reflector({
      ...shared,
      resource: resources.configMaps,
      query: { namespace, labelSelector: `${ofCluster},${tagLabels.ownerObject}=true` },
    });
    this.#owners = new OwnerObjects({ client: connection.client, watched: this.#ownerReflector });
    this.#index = new PodIndex(this.#podReflector.store);
    this.#runs = [this.#podReflector.run(this.#abort.signal), this.#ownerReflector.run(this.#abort.signal)];
  }

  get synced(): Promise<void> {
    return this.#podReflector.synced;
  }

  get isCurrent(): boolean {
    return this.#podReflector.isCurrent;
  }

  get failure(): unknown {
    return this.#podReflector.inspect().failure?.error;
  }

  get pods(): Store<Pod> {
    return this.#podReflector.store;
  }

  nodes(): Promise<Store<Node> | undefined> {
    this.#nodes ??= this.#watchNodes().then(
      (store) => {
        // The right may be granted later.
        if (!store) this.#nodes = undefined;
        return store;
      },
      (error: unknown) => {
        this.#nodes = undefined;
        throw error;
      },
    );
    return this.#nodes;
  }

  onPodChange(owner: FarOwner, listener: (change: StoreChange<Pod>) => void): Disposable {
    return this.#index.onChange(owner, listener);
  }

  podOf(owner: FarOwner, homeUid: string): DeepReadonly<Pod> | undefined {
    return this.#index.podOf(owner, homeUid);
  }

  podsOf(owner: FarOwner): Iterable<DeepReadonly<Pod>> {
    return this.#index.podsOf(owner);
  }

  ownerUid(owner: FarOwner, farNamespace: string, signal: AbortSignal): Promise<string | undefined> {
    return this.#owners.uid(owner, farNamespace, signal);
  }

  isNewOwner(uid: string): boolean {
    return this.#owners.isNew(uid);
  }

  ownerReference(owner: FarOwner, farNamespace: string, signal: AbortSignal): Promise<OwnerReference> {
    return this.#owners.reference(owner, farNamespace, this.#options.createsNamespaces, signal);
  }

  async ping(check: (signal: AbortSignal) => Promise<string>, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    if (clock.monotonic() < this.#pingedUntilMs) return;
    await this.#pings.run("", async (until) => this.history.note(await check(until)), signal);
    this.#pingedUntilMs = clock.monotonic() + pingCountsMs;
  }

  wake(): void {
    this.#podReflector.wake();
    this.#ownerReflector.wake();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort(new Error("the connection to the far cluster is closed"));
    this.#index[Symbol.dispose]();
    await Promise.allSettled(this.#runs);
    await this.connection[Symbol.asyncDispose]();
  }

  async #watchNodes(): Promise<Store<Node> | undefined> {
    const { client } = this.connection;
    const { signal } = this.#abort;
    try {
      await client.list(resources.nodes, { limit: 1 }, { signal });
    } catch (error) {
      if (isForbidden(error)) return undefined;
      throw error;
    }
    const reflector = new Reflector({ ...this.#options, client, history: this.history, resource: resources.nodes });
    this.#runs.push(reflector.run(signal));
    await reflector.synced;
    return reflector.store;
  }
}
