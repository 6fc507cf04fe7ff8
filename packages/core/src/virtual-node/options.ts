import type { Clock, Random } from "@virtual-kubelet/clock";
import type { DeepReadonly, KubeClient, Logger, Metrics, Node, Taint, Tracer } from "@virtual-kubelet/kube-client";
import type { LeaseObservation } from "../node/instance.ts";
import type { ProviderDefinition } from "../provider/provider-definition.ts";
import type { SharedCluster } from "../shared-cluster/shared-cluster.ts";

/** Options of the node object. They take precedence over the provider's description, which takes precedence over the defaults. */
export interface NodeOptions {
  /** A DNS subdomain, unique in the cluster. */
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  /**
   * Default: {@link providerTaint}, so that only pods that tolerate it are scheduled to the node. An empty list opens the node to every pod.
   */
  readonly taints?: readonly DeepReadonly<Taint>[] | undefined;
  /** Reported as InternalIP. Default: the provider's addresses, or none. */
  readonly address?: string | undefined;
  /** A second InternalIP, of the other IP family than {@link address}, for a node with IPv4 and IPv6. Default: none. */
  readonly secondaryAddress?: string | undefined;
  /**
   * Reported as InternalIP if neither {@link address} nor the provider sets one. Default: this machine's first address that other machines
   * can reach, or none if {@link kubeletPort} is 0.
   */
  readonly defaultAddress?: string | undefined;
  /**
   * Port on which you serve the kubelet's API; a kubelet's is 10250. Default: 0, no server: the node announces no port, and `kubectl logs`
   * and `exec` fail.
   */
  readonly kubeletPort?: number | undefined;
  /** Quantities that replace the provider's, by resource name. */
  readonly capacity?: Readonly<Record<string, string>> | undefined;
  readonly operatingSystem?: "linux" | "windows" | undefined;
  readonly architecture?: string | undefined;
  /** Reported kubelet version; must be a semantic version with a leading `v`. */
  readonly kubeletVersion?: string | undefined;
  /**
   * Derives the reported kubelet version from the API server's release, such as `v1.34.2`, if {@link kubeletVersion} is not set: a kubelet
   * must not be newer than its API server. The server is asked once, at the start. Default: that release.
   */
  readonly kubeletVersionOf?: ((apiServerVersion: string) => string) | undefined;
  /**
   * Features of Kubernetes that the node supports and not every kubelet does, such as `ExtendWebSocketsToKubelet`: names in
   * upper camel case, in any order. Default: `ExtendWebSocketsToKubelet`, or none if {@link kubeletPort} is 0. API servers before 1.36
   * ignore it.
   */
  readonly declaredFeatures?: readonly string[] | undefined;
  /** Seconds; default 40. The lease is renewed every quarter of it. */
  readonly leaseDurationSeconds?: number | undefined;
  /** Milliseconds between pings; default 10,000. */
  readonly pingIntervalMs?: number | undefined;
  /** Deadline of one ping in milliseconds; default 10,000. */
  readonly pingTimeoutMs?: number | undefined;
  /**
   * Milliseconds since the last successful ping during which the node stays Ready while the back end cannot be reached, because its restart
   * is not a failure of the node. Default: `pingToleranceMs` of the provider, or 0.
   */
  readonly pingToleranceMs?: number | undefined;
  /** Milliseconds between full reports without changes; default: 300,000. Changes are written at once. */
  readonly statusReportIntervalMs?: number | undefined;
  /**
   * State of the node while the back end does not answer. `notReady` (default): Ready=False with the provider's
   * message; Kubernetes evicts the pods after 300 s. `condition`: the node stays Ready, with
   * `ProviderAvailable=False` and a NoSchedule taint.
   */
  readonly onProviderDown?: "notReady" | "condition" | undefined;
  /** Action on the node at a graceful stop; default: `keep`. */
  readonly onShutdown?: "keep" | "cordon" | "drain" | "delete" | undefined;
  /** Identity of this instance, stable across restarts; see {@link InstanceOptions}. */
  readonly instance: InstanceOptions;
}

/** Options that ensure one live instance of a node. */
export interface InstanceOptions {
  /** Stable across restarts of the same installation: from the config, otherwise the name of the pod or host. */
  readonly identity: string;
  /** Whether to wait until another instance has gone, instead of failing with {@link NodeHeldError}. Default: `false`. */
  readonly standby?: boolean | undefined;
  /**
   * Group of instances that share the node, a label's value. The node's Lease has it as a label, and is shortened at a graceful stop, so that
   * another instance takes the node at once. Set by {@link NodePool}. Default: none.
   */
  readonly group?: string | undefined;
  /** LeaseObservation of the node's Lease before the start, on this process's monotonic clock. Set by {@link NodePool}. Default: none. */
  readonly seen?: LeaseObservation | undefined;
}

/** Options for pods. */
export interface PodOptions {
  /** Maximum number of concurrent calls that start or change pods, and of those that end pods; default: 50. Calls over 5 s do not count. */
  readonly workers?: number | undefined;
  /** Deadline of one provider call in milliseconds; default 300,000. */
  readonly providerTimeoutMs?: number | undefined;
  /** Milliseconds between inventories of the provider; default: 5,000, or 300,000 for a provider that notifies. */
  readonly pollIntervalMs?: number | undefined;
  /** Handling of a pod that the provider does not support; default: `wait` (Pending, `ProviderUnsupported`). */
  readonly onUnsupported?: "wait" | "fail" | UnsupportedPolicy | undefined;
  /** Handling of pods of DaemonSets: `run` (default), stay Pending (`ignore`), or Failed (`reject`). */
  readonly daemonSets?: "run" | "ignore" | "reject" | undefined;
  /**
   * Handling of a pod that mounts its service account's token, as it does by default, if the provider has
   * no projected volumes: `drop` (default) passes it to the provider without that volume and its mounts; with `require`
   * it is unsupported.
   */
  readonly automountToken?: "drop" | "require" | undefined;
  readonly orphans?: OrphanOptions | undefined;
}

/** Handling of pods that the provider does not support. */
export interface UnsupportedPolicy {
  /** Default `wait`. */
  readonly default?: "wait" | "fail" | undefined;
  /**
   * Fields that are omitted from a pod if the provider does not support them, each one of {@link ignorableFields}, such as
   * `spec.containers[*].livenessProbe`. The provider does not see them, and an event on the pod names them. Default: none.
   */
  readonly ignore?: readonly string[] | undefined;
}

/** Options of the removal of back-end pods without an API object. */
export interface OrphanOptions {
  /** Default `true`; needs a cluster id. */
  readonly enabled?: boolean | undefined;
  /** Milliseconds for which a pod must have been an orphan before it is removed; default: 60,000. */
  readonly graceMs?: number | undefined;
  /** Milliseconds between sweeps; default: 300,000. The first runs one grace time after the start. */
  readonly intervalMs?: number | undefined;
  /** A sweep that would remove more pods removes none, and no pod is ended when a list of the API server lacks more. Default: 10. */
  readonly maxPerSweep?: number | undefined;
}

/** An address of the API server. */
export interface ApiServerForPods {
  /** A DNS name or IP address. */
  readonly host: string;
  /** Default 443. */
  readonly port?: number | undefined;
}

/** Options of {@link VirtualNode}. */
export interface VirtualNodeOptions<Config = unknown> {
  readonly client: KubeClient;
  /** What the node has in common with other nodes of the program, of the same API server. Default: nothing. */
  readonly shared?: SharedCluster | undefined;
  readonly provider: ProviderDefinition<Config>;
  /** The provider's configuration before it is parsed with its schema. */
  readonly providerConfig: unknown;
  readonly node: NodeOptions;
  readonly pods?: PodOptions | undefined;
  /** Default: the UID of the namespace `kube-system`. */
  readonly clusterId?: string | undefined;
  /** Default `cluster.local`. */
  readonly clusterDomain?: string | undefined;
  /**
   * Address at which pods outside the cluster's network reach the API server. It replaces the cluster IP in the variables of the service
   * `kubernetes`. The server's certificate must be valid for the host. Default: the cluster
   * IP.
   */
  readonly apiServerForPods?: ApiServerForPods | undefined;
  /**
   * Returns why the node counts as one whose back end is down although that answers, such as that its counterpart is gone there; `undefined`
   * while nothing is wrong. Asked with each ping. Default: never a problem.
   */
  readonly counterpartProblem?: (() => string | undefined) | undefined;
  /** This machine's addresses, of which the first is the default of {@link NodeOptions.defaultAddress}. Default: {@link reachableAddresses}. */
  readonly hostAddresses?: readonly string[] | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  readonly logger?: Logger | undefined;
  readonly metrics?: Metrics | undefined;
  readonly tracer?: Tracer | undefined;
}

/** The node object as last seen at the API server. */
export type RegisteredNode = DeepReadonly<Node>;
