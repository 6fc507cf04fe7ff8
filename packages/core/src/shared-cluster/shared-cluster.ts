import { Semaphore, SingleFlight } from "@virtual-kubelet/async";
import { systemClock, systemRandom, type Clock, type Random } from "@virtual-kubelet/clock";
import {
  ConcurrencyLimit,
  EventBudget,
  noMetrics,
  PartitionedReflector,
  resources,
  ServerHistory,
  silentLogger,
  type KubeClient,
  type Logger,
  type Metrics,
  type Node,
  type Pod,
} from "@virtual-kubelet/kube-client";
import { readApiServerVersion } from "../api-server/api-server-version.ts";
import { readClusterId } from "../api-server/cluster-id.ts";
import { ServiceLister } from "../api-server/service-lister.ts";
import { maxStatusWrites, nodeOf, podsOf, type ClusterOptions, type NodeCluster } from "./node-cluster.ts";

/**
 * Number of nodes that take their Leases and register at once. More would only wait for each other, while the deadlines of their requests run.
 */
const maxStarting = 32;

/** Time after which a node that has not started counts no longer as one that starts, in milliseconds. */
const maxStartMs = 10_000;

/** Time for which a missing answer holds for all nodes, in milliseconds. Then the next node asks again. */
const missingMs = 10_000;

/**
 * Time for which the watches of pods and Nodes go on without nodes, in milliseconds. Otherwise a program whose nodes all fail as soon as they are
 * begun would read all pods and Nodes at each try.
 */
const lingerMs = 30_000;

/** Options of {@link SharedCluster}. */
export interface SharedClusterOptions {
  readonly client: KubeClient;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  readonly logger?: Logger | undefined;
  readonly metrics?: Metrics | undefined;
}

/**
 * What the nodes of one program have in common at one API server: one watch of pods, one of Nodes, one of services, a kubelet's budget of events,
 * and what is read once.
 * Pods and Nodes of others are dropped as soon as they are parsed. If the server allows a program only the objects of its own nodes, each node
 * has watches of its own. The watches run while there is a node, and for 30 s afterwards, because nodes that fail are tried again; disposing of
 * the cluster lets them end with the last node.
 *
 * @example
 * ```ts
 * using shared = new SharedCluster({ client });
 * const nodes = names.map((name) => new VirtualNode({ client, shared, provider, providerConfig: {}, node: { name, instance: { identity: "a" } } }));
 * await Promise.all(nodes.map((node) => node.run(signal)));
 * ```
 */
export class SharedCluster implements Disposable {
  readonly #common: ClusterOptions & { readonly history: ServerHistory };
  readonly #pods: PartitionedReflector<Pod>;
  readonly #nodes: PartitionedReflector<Node>;
  readonly #starts = new Semaphore(maxStarting);
  readonly #reads = new SingleFlight<string | undefined>();
  /** Answers by what was read. A missing one holds until a time of the monotonic clock, in milliseconds. */
  readonly #known = new Map<string, { readonly answer: string | undefined; readonly untilMs: number }>();
  readonly #events: EventBudget;
  /** Otherwise each node would have as many writes under way as one alone, and all would wait for the same connections. */
  readonly #statusWrites = new ConcurrencyLimit(maxStatusWrites);
  #services: ServiceLister;

  constructor(options: SharedClusterOptions) {
    const { client, clock = systemClock, random = systemRandom, logger = silentLogger, metrics = noMetrics } = options;
    const history = new ServerHistory({ server: "the API server", logger });
    this.#common = { client, history, clock, random, logger, metrics };
    this.#pods = new PartitionedReflector<Pod>({
      ...this.#common,
      lingerMs,
      resource: resources.pods,
      query: { fieldSelector: "spec.nodeName!=" },
      keyOf: ({ spec }) => spec?.nodeName,
      queryOf: podsOf,
    });
    this.#nodes = new PartitionedReflector<Node>({
      ...this.#common,
      lingerMs,
      resource: resources.nodes,
      keyOf: ({ metadata }) => metadata?.name,
      queryOf: nodeOf,
    });
    this.#services = new ServiceLister(this.#common);
    this.#events = new EventBudget({ clock });
  }

  /**
   * Adds a node. Nodes that are added in the same turn of the event loop begin with one list.
   *
   * @throws Error if a node of that name has not been disposed of
   * @internal
   */
  join(nodeName: string): NodeCluster {
    const { client, history } = this.#common;
    const pods = this.#pods.join(nodeName);
    const node = this.#nodes.join(nodeName);
    return {
      history,
      pods,
      node,
      services: { list: (namespace, signal) => this.#services.list(namespace, signal) },
      events: this.#events,
      statusWrites: this.#statusWrites,
      clusterId: async (signal) => (await this.#read("clusterId", (inner) => readClusterId(client, this.#common, inner), signal)) ?? "",
      apiServerVersion: (signal) => this.#read("version", (inner) => readApiServerVersion(client, this.#common, inner), signal),
      admit: (signal) => this.#admit(signal),
      standBy: (place) => {
        place[Symbol.dispose]();
        pods.expire();
      },
      [Symbol.asyncDispose]: async () => {
        pods[Symbol.dispose]();
        node[Symbol.dispose]();
        history.forget(nodeName);
        if (this.#pods.size === 0) await this.#closeServices();
      },
    };
  }

  /** Ends the watches of pods and Nodes as soon as there is no node. */
  [Symbol.dispose](): void {
    this.#pods[Symbol.dispose]();
    this.#nodes[Symbol.dispose]();
  }

  /** Waits for a place among the nodes that start. It is lost after a while, so that nodes whose start hangs do not keep others from it. */
  async #admit(signal: AbortSignal): Promise<Disposable> {
    const place = await this.#starts.acquire(signal);
    const limit = this.#common.clock.setTimer(maxStartMs, () => place[Symbol.dispose]());
    return {
      [Symbol.dispose]: () => {
        limit[Symbol.dispose]();
        place[Symbol.dispose]();
      },
    };
  }

  /** Reads what has not been answered before. A missing answer, such as one that was refused, is asked for again after a while. */
  async #read(what: string, read: (signal: AbortSignal) => Promise<string | undefined>, signal: AbortSignal): Promise<string | undefined> {
    const { clock } = this.#common;
    const known = this.#known.get(what);
    if (known && clock.monotonic() < known.untilMs) return known.answer;
    const answer = await this.#reads.run(what, read, signal);
    this.#known.set(what, { answer, untilMs: answer ? Infinity : clock.monotonic() + missingMs });
    return answer;
  }

  async #closeServices(): Promise<void> {
    const services = this.#services;
    this.#services = new ServiceLister(this.#common);
    await services.close();
  }
}
