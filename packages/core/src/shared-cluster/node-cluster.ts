import type { Clock, Random } from "@virtual-kubelet/clock";
import {
  ConcurrencyLimit,
  EventBudget,
  Reflector,
  resources,
  ServerHistory,
  type KubeClient,
  type Logger,
  type Metrics,
  type Node,
  type ObjectWatch,
  type Pod,
} from "@virtual-kubelet/kube-client";
import { readApiServerVersion } from "../api-server/api-server-version.ts";
import { readClusterId } from "../api-server/cluster-id.ts";
import { ServiceLister } from "../api-server/service-lister.ts";

/** Number of pods whose status is written, or that are removed, at once; more than the connections allow. */
export const maxStatusWrites = 64;

/** What a node needs of its cluster, until it is disposed of. Nodes may share it. */
export interface NodeCluster extends AsyncDisposable {
  /** Tells when the API server was restored from a backup. */
  readonly history: ServerHistory;
  /** The pods that are bound to the node. */
  readonly pods: ObjectWatch<Pod>;
  /** The Node of its name. */
  readonly node: ObjectWatch<Node>;
  readonly services: Pick<ServiceLister, "list">;
  readonly events: EventBudget;
  /** Limits how many pods have their status written, or are removed, at once. */
  readonly statusWrites: ConcurrencyLimit;
  /** The id of the cluster; the empty string if it may not be read. */
  clusterId(signal: AbortSignal): Promise<string>;
  /** The API server's release, such as `v1.34.2`; `undefined` if it does not report it. */
  apiServerVersion(signal: AbortSignal): Promise<string | undefined>;
  /**
   * Waits until the node may start.
   *
   * @returns to be disposed of when the node has started
   * @throws `signal.reason` when aborted
   */
  admit(signal: AbortSignal): Promise<Disposable>;
  /**
   * Gives the place back while another instance has the node. What is known of the pods may be late when that has gone, so that they are listed
   * anew when their watch is run.
   */
  standBy(place: Disposable): void;
}

/** What the watches of a cluster need. */
export interface ClusterOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Returns a cluster of which a node shares nothing with others. */
export function ownCluster(nodeName: string, options: ClusterOptions): NodeCluster {
  const history = new ServerHistory({ server: "the API server", logger: options.logger });
  const common = { ...options, history };
  const services = new ServiceLister(common);
  return {
    history,
    pods: new Reflector<Pod>({ ...common, resource: resources.pods, query: podsOf(nodeName) }),
    node: new Reflector<Node>({ ...common, resource: resources.nodes, query: nodeOf(nodeName) }),
    services,
    events: new EventBudget(options),
    statusWrites: new ConcurrencyLimit(maxStatusWrites),
    clusterId: (signal) => readClusterId(options.client, common, signal),
    apiServerVersion: (signal) => readApiServerVersion(options.client, common, signal),
    admit: () => Promise.resolve({ [Symbol.dispose]: () => {} }),
    // The watch lists when it is run.
    standBy: () => {},
    [Symbol.asyncDispose]: () => services.close(),
  };
}

/** Selects the pods that are bound to a node. */
export function podsOf(nodeName: string): { readonly fieldSelector: string } {
  return { fieldSelector: `spec.nodeName=${nodeName}` };
}

/** Selects the Node of a name. */
export function nodeOf(nodeName: string): { readonly fieldSelector: string } {
  return { fieldSelector: `metadata.name=${nodeName}` };
}
