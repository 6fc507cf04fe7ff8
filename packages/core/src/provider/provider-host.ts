import type { Clock, Random } from "@virtual-kubelet/clock";
import type { ConfigMap, DeepReadonly, Logger, Metrics, Pod, Secret } from "@virtual-kubelet/kube-client";
import type { PodRef } from "./pod-ref.ts";
import type { ResolvedPod } from "./resolved-pod.ts";

/**
 * A provider's access to the cluster. It has no API client: a provider reads secrets and config maps by name,
 * and sees only the pods that are passed to it.
 */
export interface ProviderHost {
  readonly nodeName: string;
  /**
   * Id of the cluster: from the config, otherwise the UID of the namespace `kube-system`. Empty if neither is available;
   * orphans are then never deleted.
   */
  readonly clusterId: string;
  /** The node's own address, if it has one. */
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
   * Returns a token of the pod's service account, bound to the pod: it becomes invalid when the pod is deleted. Tokens are cached and
   * renewed before they expire, so call this each time a token is needed. The Node authorizer allows a token only for an audience that the
   * pod's own volumes name.
   *
   * @throws NotFoundError for a pod that is not on this node or has ended; UnavailableError, ForbiddenError;
   * InvalidInputError for a lifetime under ten minutes
   */
  getServiceAccountToken(pod: PodRef, options: ServiceAccountTokenOptions, signal: AbortSignal): Promise<ServiceAccountToken>;
  /**
   * Returns the pod's references as they are now. Each call returns a new object, which sees the changes since the previous one.
   *
   * @throws NotFoundError for a pod that is not on this node
   */
  resolvePod(pod: PodRef): ResolvedPod;
  /**
   * Calls the listener when a secret or config map that a pod has requested through {@link resolvePod} has appeared, changed or gone. For use
   * when an accepted pod waits for such an object at the back end. The listener must return at once.
   *
   * Absent in a host that watches nothing: the provider then retries by itself.
   */
  onConfigChanged?(listener: (pod: PodRef) => void): Disposable;
  /**
   * Returns the pod as the API server has it now, with its last status, but without the fields that are omitted for this provider. Useful
   * for a pod that the provider finds at its back end after a restart of the program. It must not be changed.
   *
   * @returns `undefined` for a pod that is not on this node, or is gone
   */
  findPod(pod: PodRef): DeepReadonly<Pod> | undefined;
  /**
   * Returns the pods that are bound to the node, in no order, each as {@link findPod} does. From the first `getPods` on, it is complete: it
   * includes pods of an earlier process that have not been passed to this provider yet. Useful to go on with those pods where nothing but
   * their status is left of them, or to keep clear of what they have, such as their addresses. It looks at every pod, so it is not for each call.
   *
   * Absent in a host that knows no pods but those that it passes.
   */
  listPods?(): readonly DeepReadonly<Pod>[];
  /**
   * Records an event on a pod for people to read: pulled, created, started, unhealthy. Returns at once and never
   * throws. Events have a kubelet's budget; events beyond it are dropped and counted. Events of one reason with different messages are
   * combined after ten, and a pod with many events has at most one in five minutes. The message must not hold secrets.
   */
  recordEvent(pod: PodRef, event: PodEvent): void;
  /** The same of the node as a whole. Absent in a host without a cluster: then nobody is told. */
  recordNodeEvent?(event: Omit<PodEvent, "container">): void;
}

/**
 * An event on a pod, for people to read.
 *
 * @typeParam Reason - the reasons that the caller may write; default: any
 */
export interface PodEvent<Reason extends string = string> {
  readonly type: "Normal" | "Warning";
  /** One word in CamelCase, such as `Pulled`. {@link ProviderDefinition.reasons} explains it. */
  readonly reason: Reason;
  readonly message: string;
  /** Name of the container concerned. Default: the pod as a whole. */
  readonly container?: string | undefined;
}

/** Options of {@link ProviderHost.getServiceAccountToken}. */
export interface ServiceAccountTokenOptions {
  /** Intended recipient of the token. Default: the API server. */
  readonly audience?: string | undefined;
  /** Lifetime in seconds, 600 or more; default: 3600. The API server may change it. */
  readonly expirationSeconds?: number | undefined;
}

/** A service account's token. It is a secret. */
export interface ServiceAccountToken {
  readonly token: string;
  /** RFC 3339, by the API server's clock. */
  readonly expirationTimestamp: string;
}
