import type { Owner, PodRef, ProviderPodStatus } from "@virtual-kubelet/core";

/** Identity of a back-end object, stored in its tags. */
export interface PodIdentity {
  readonly ref: PodRef;
  readonly owner: Owner;
  /** Number of the pod's object, from 0. A back end that does not restart containers gets a new object, with the next number. */
  readonly attempt: number;
}

/** Relation of a back-end object to this node, according to its tags. */
export type IdentityReading =
  | { readonly kind: "pod"; readonly identity: PodIdentity }
  /** The object belongs to another node or another program. It is never changed. */
  | { readonly kind: "foreign" }
  /** The object is, or may be, a pod of this node. `ref` is the pod, if it certainly belongs to this node and that much can be read. */
  | { readonly kind: "unreadable"; readonly why: string; readonly ref?: PodRef | undefined };

/**
 * Progress of a back-end object.
 *
 * - `starting`, `ending`: it changes without being asked, so it is described at the short interval.
 * - `running`: it is described when its version changes, or at the long interval.
 * - `ended`: all its containers have ended and the back end will not start them again.
 */
export type Progress = "starting" | "running" | "ending" | "ended";

/**
 * Content of a back-end object, in Kubernetes' terms.
 *
 * @typeParam Memory - facts that the back end forgets and that the next observation needs, such as counted restarts
 */
export interface Observation<Memory = undefined> {
  readonly progress: Progress;
  /** The pod's status, with one container status for each container. `phase` must be final if, and only if, the pod has ended for good. */
  readonly status: ProviderPodStatus;
  /** RFC 3339. */
  readonly createdAt?: string | undefined;
  readonly memory: Memory;
  /** Set if Kubernetes expects the pod to run again, and only a new object can do that; requires {@link Progress} `ended`. */
  readonly needsNewObject?: boolean | undefined;
}
