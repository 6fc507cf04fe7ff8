import type { Clock, Random } from "@virtual-kubelet/clock";
import type { ConfigMap, DeepReadonly, Logger, Metrics, Pod, Secret } from "@virtual-kubelet/kube-client";
import type { PodRef } from "./pod-ref.ts";
import type { ResolvedPod } from "./resolved-pod.ts";

/**
 * All that a provider gets of the cluster. There is no API client: a provider reads secrets and config maps by name,
 * and sees only the pods it is handed.
 */
export interface ProviderHost {
  /** Name of the node. */
  readonly nodeName: string;
  /**
   * Id of the cluster, from the config, else the UID of the namespace `kube-system`; empty if neither can be had, and
   * then orphans are never deleted.
   */
  readonly clusterId: string;
  /** The node's own address, where it has one. */
  readonly nodeAddress: string | undefined;
  /** DNS domain of the cluster, such as `cluster.local`. */
  readonly clusterDomain: string;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly random: Random;
  /** @throws NotFoundError, ForbiddenError */
  getSecret(namespace: string, name: string, signal: AbortSignal): Promise<DeepReadonly<Secret>>;
  /** @throws NotFoundError, ForbiddenError */
  getConfigMap(namespace: string, name: string, signal: AbortSignal): Promise<DeepReadonly<ConfigMap>>;
  /**
   * A token of the pod's service account, bound to the pod: it ends with it. Kept, and requested anew before it expires;
   * ask each time it is needed. Under the Node authorizer a token can only be had for an audience that the pod's own
   * volumes name.
   *
   * @throws NotFoundError for a pod that is none of this node's or has ended; UnavailableError, ForbiddenError;
   * InvalidInputError for an age under ten minutes
   */
  getServiceAccountToken(pod: PodRef, options: ServiceAccountTokenOptions, signal: AbortSignal): Promise<ServiceAccountToken>;
  /**
   * What the pod's references come to now. Each call makes a new one, that sees what has changed since the one before.
   *
   * @throws NotFoundError for a pod that is none of this node's
   */
  resolvePod(pod: PodRef): ResolvedPod;
  /**
   * Calls back when a secret or config map that a pod has asked for through {@link resolvePod} has come, changed or gone: for
   * a provider that keeps a pod waiting for one, after it has accepted the pod. The listener returns at once.
   *
   * Absent in a host that watches nothing: then the provider looks again by itself, as it has to anyway where a call fails.
   */
  onConfigChanged?(listener: (pod: PodRef) => void): Disposable;
  /**
   * The pod as the API server has it now, its last status included, but without what is left out for this provider: for a provider that finds a pod at its back end which
   * it has not been handed, after a restart of the program. It must not be changed.
   *
   * @returns `undefined` for a pod that is none of this node's, or is gone
   */
  findPod(pod: PodRef): DeepReadonly<Pod> | undefined;
  /**
   * Tells people what happens to a pod, as an event on it: pulled, created, started, unhealthy. Returns at once and never
   * throws. Events have a budget, the kubelet's, and what exceeds it is dropped and counted. A message that changes each
   * time is combined with its like: ten of one reason become one event, and a pod with many has one in five minutes. The
   * message may hold nothing secret.
   */
  recordEvent(pod: PodRef, event: PodEvent): void;
  /** The same of the node as a whole. Absent in a host without a cluster: then nobody is told. */
  recordNodeEvent?(event: Omit<PodEvent, "container">): void;
}

/** What happened to a pod, for people. */
export interface PodEvent {
  readonly type: "Normal" | "Warning";
  /** One word in CamelCase, such as `Pulled`. */
  readonly reason: string;
  readonly message: string;
  /** Name of the container it concerns; absent: the pod as a whole. */
  readonly container?: string | undefined;
}

/** What a token is wanted for. */
export interface ServiceAccountTokenOptions {
  /** Who is to accept it; default: the API server. */
  readonly audience?: string | undefined;
  /** How long it is to live; 600 at least, default 3600. The API server may change it. */
  readonly expirationSeconds?: number | undefined;
}

/** A service account's token. It is a secret. */
export interface ServiceAccountToken {
  readonly token: string;
  /** RFC 3339, by the API server's clock. */
  readonly expirationTimestamp: string;
}
