import type { Clock, Random } from "@virtual-kubelet/clock";
import type { DeepReadonly, KubeClient, Logger, Metrics, Node, Taint, Tracer } from "@virtual-kubelet/kube-client";
import type { ProviderDefinition } from "../provider/provider-definition.ts";

/** What the node object looks like; the provider's own description goes over the defaults, and these go over both. */
export interface NodeOptions {
  /** A DNS subdomain, unique in the cluster. */
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  /** Default: none. The program's default is `virtual-kubelet.io/provider=<provider>:NoSchedule`. */
  readonly taints?: readonly DeepReadonly<Taint>[] | undefined;
  /** Reported as InternalIP. Default: the provider's addresses, else none. */
  readonly address?: string | undefined;
  /** Reported as InternalIP besides {@link address}, and of the other IP family: a node with IPv4 and IPv6. Default: none. */
  readonly secondaryAddress?: string | undefined;
  /** Reported as InternalIP where neither {@link address} nor the provider says any. Default: none. */
  readonly defaultAddress?: string | undefined;
  /** Port of the kubelet's HTTPS server; 0 where there is none. Default 10250. */
  readonly kubeletPort?: number | undefined;
  /** Quantities that replace the provider's, by resource name. */
  readonly capacity?: Readonly<Record<string, string>> | undefined;
  readonly operatingSystem?: "linux" | "windows" | undefined;
  readonly architecture?: string | undefined;
  /** Reported kubelet version; must be a semantic version with a leading `v`. */
  readonly kubeletVersion?: string | undefined;
  /**
   * Makes the reported kubelet version of the API server's release, such as `v1.34.2`, where {@link kubeletVersion} is not set: a kubelet
   * must not be newer than its API server. The server is asked once, at the start. Default: the release that these packages follow,
   * whatever the server is.
   */
  readonly kubeletVersionOf?: ((apiServerVersion: string) => string) | undefined;
  /**
   * What the node's side of Kubernetes can do that not every kubelet can, such as `ExtendWebSocketsToKubelet`: names in
   * upper camel case, in any order. Default: none. API servers before 1.36 ignore it.
   */
  readonly declaredFeatures?: readonly string[] | undefined;
  /** Seconds; default 40. The lease is renewed every quarter of it. */
  readonly leaseDurationSeconds?: number | undefined;
  /** Milliseconds between pings; default 10,000. */
  readonly pingIntervalMs?: number | undefined;
  /** Deadline of one ping in milliseconds; default 10,000. */
  readonly pingTimeoutMs?: number | undefined;
  /**
   * Milliseconds since the last good ping for which a back end that cannot be reached leaves the node Ready, because one that restarts is no
   * node that died. Default: `pingToleranceMs` of the provider, else 0.
   */
  readonly pingToleranceMs?: number | undefined;
  /** Milliseconds between full reports where nothing changed; default 300,000. Changes are written at once. */
  readonly statusReportIntervalMs?: number | undefined;
  /**
   * What a back end that does not answer makes of the node. `notReady` (default): Ready=False with the provider's
   * message; Kubernetes evicts the pods after 300 s. `condition`: the node stays Ready, with
   * `ProviderAvailable=False` and a NoSchedule taint.
   */
  readonly onProviderDown?: "notReady" | "condition" | undefined;
  /** What is done with the node at a graceful stop; default `keep`. */
  readonly onShutdown?: "keep" | "cordon" | "drain" | "delete" | undefined;
  /** Identity of this instance, stable across restarts; see {@link InstanceOptions}. */
  readonly instance: InstanceOptions;
}

/** How one live instance a node is held. */
export interface InstanceOptions {
  /** Stable across restarts of the same installation: from the config, else the pod's or host's name. */
  readonly identity: string;
  /** Wait for the other instance to go instead of ending with {@link NodeHeldError}. Default `false`. */
  readonly standby?: boolean | undefined;
}

/** How pods are run. */
export interface PodOptions {
  /** Provider calls at once, of those that start or change pods, and as many of those that end them; default 50. One that takes over 5 s no longer counts. */
  readonly workers?: number | undefined;
  /** Deadline of one provider call in milliseconds; default 300,000. */
  readonly providerTimeoutMs?: number | undefined;
  /** Milliseconds between inventories of the provider; default 5,000, and 300,000 for one that notifies. */
  readonly pollIntervalMs?: number | undefined;
  /** What becomes of a pod that needs more than the provider can do; default `wait` (Pending, `ProviderUnsupported`). */
  readonly onUnsupported?: "wait" | "fail" | UnsupportedPolicy | undefined;
  /** Pods of DaemonSets: `run` (default) them, leave them Pending (`ignore`), or `reject` them as Failed. */
  readonly daemonSets?: "run" | "ignore" | "reject" | undefined;
  /**
   * What becomes of a pod whose service account's token is to be mounted, as it is by default, where the provider knows
   * no projected volumes: `drop` (default) gives it to the provider without that volume and its mounts; with `require`
   * it is unsupported.
   */
  readonly automountToken?: "drop" | "require" | undefined;
  readonly orphans?: OrphanOptions | undefined;
}

/** What becomes of pods that need more than the provider can do. */
export interface UnsupportedPolicy {
  /** Default `wait`. */
  readonly default?: "wait" | "fail" | undefined;
  /**
   * Fields that are left out of a pod where the provider does not support them, each one of {@link ignorableFields}, such as
   * `spec.containers[*].livenessProbe`. The provider does not see them, and an event on the pod names them. Default: none.
   */
  readonly ignore?: readonly string[] | undefined;
}

/** How back-end objects without a pod are found and removed. */
export interface OrphanOptions {
  /** Default `true`; needs a cluster id. */
  readonly enabled?: boolean | undefined;
  /** Milliseconds an orphan must have been seen as one before it is removed; default 60,000. */
  readonly graceMs?: number | undefined;
  /** Milliseconds between sweeps; default 300,000. The first runs one grace age after start. */
  readonly intervalMs?: number | undefined;
  /** The brake: a sweep that would remove more than this many removes none; nor is any pod ended when a list of the API server lacks more than this many. Default 10. */
  readonly maxPerSweep?: number | undefined;
}

/** An address of the API server. */
export interface ApiServerForPods {
  /** A DNS name or IP address. */
  readonly host: string;
  /** Default 443. */
  readonly port?: number | undefined;
}

/** One virtual node: what it is called, what it talks to, who runs its pods. */
export interface VirtualNodeOptions<Config = unknown> {
  readonly client: KubeClient;
  readonly provider: ProviderDefinition<Config>;
  /** The provider's configuration as read; parsed with its schema before anything else happens. */
  readonly providerConfig: unknown;
  readonly node: NodeOptions;
  readonly pods?: PodOptions | undefined;
  /** Default: the UID of the namespace `kube-system`. */
  readonly clusterId?: string | undefined;
  /** Default `cluster.local`. */
  readonly clusterDomain?: string | undefined;
  /**
   * Where pods reach the API server, for pods outside the cluster's network: it stands in the variables of the service
   * `kubernetes` in place of its cluster IP. The server's certificate must be valid for the host. Default: the cluster
   * IP.
   */
  readonly apiServerForPods?: ApiServerForPods | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  readonly logger?: Logger | undefined;
  readonly metrics?: Metrics | undefined;
  readonly tracer?: Tracer | undefined;
}

/** The node object as last seen at the API server. */
export type RegisteredNode = DeepReadonly<Node>;
