import type { DeepReadonly, Pod, PodStatus } from "@virtual-kubelet/kube-client";
import type { PodRef } from "./pod-ref.ts";
import type { ResolvedPod } from "./resolved-pod.ts";

/** Owner of a back-end object. A provider tags each object it creates with this and the pod's UID, and reports the tag. */
export interface Owner {
  /** Id of the cluster; see {@link ProviderHost.clusterId}. */
  readonly clusterId: string;
  readonly nodeName: string;
}

/** A pod as the back end holds it. */
export interface ProviderPod {
  readonly ref: PodRef;
  /** The tag found on the back-end object. */
  readonly owner: Owner;
  /** Time of creation, RFC 3339. Stored in the tag if the back end does not report it; absent for objects of other programs. */
  readonly createdAt?: string | undefined;
  readonly status: ProviderPodStatus;
}

/**
 * Status of a pod as a provider observes it: phase, addresses and one container status for each container of the spec. The core derives
 * conditions, start time and observedGeneration, and ignores them here, except for the condition PodReadyToStartContainers, which only the
 * provider can know. Conditions of types that the core does not own (readiness gates, for example) are passed on.
 *
 * A back end with kubelets of its own reports what they wrote: of a condition that the core derives with the same status, reason, message
 * and time are taken over (not of PodScheduled, which concerns this node). A pod of which it says that ContainersReady is True and Ready is
 * False, for another reason than readiness gates, is not Ready: its machine does not answer. `hostIP` and `hostIPs` replace the node's addresses.
 * `resources` and `allocatedResources` of the pod keep their stored value when they are absent.
 *
 * Values that the API server would refuse together with the whole status are left out, and logged once for each field of a pod. Examples are
 * the health of a device that the pod's spec does not name, and an address that is not an IP address.
 */
export interface ProviderPodStatus extends DeepReadonly<
  Pick<
    PodStatus,
    | "phase"
    | "reason"
    | "message"
    | "podIP"
    | "podIPs"
    | "hostIP"
    | "hostIPs"
    | "containerStatuses"
    | "initContainerStatuses"
    | "ephemeralContainerStatuses"
    | "resources"
    | "allocatedResources"
  >
> {
  readonly conditions?: DeepReadonly<PodStatus["conditions"]> | undefined;
  /**
   * Set by a provider that knows when a pod's network, ports, volumes and limits have been released. A deleted pod has then ended only
   * when it is reported as `gone` or is no longer found, not already when its last container has ended. The pod stays at the API server
   * until then, so that no other pod takes its place too early. The provider may report a final phase earlier, once ports and addresses are
   * free; without a final phase the pod has not ended, whatever its containers say. Must be the same in all reports of a pod.
   * Default: `false`.
   */
  readonly endsWhenGone?: boolean | undefined;
  /**
   * Set by a provider that knows that the back end holds the pod with other labels or annotations than it has now. They have no generation, so
   * that only the provider knows of a change while the program was stopped. A pod that is found like this is passed to `updatePod`.
   * Default: `false`.
   */
  readonly isMetadataOutdated?: boolean | undefined;
}

/** The inventory of a provider. */
export interface ProviderPodList {
  readonly pods: readonly ProviderPod[];
  /** Whether the list is complete. `false` (a page failed, a region did not answer) makes every missing pod unknown, never gone. */
  readonly complete: boolean;
}

/** A provider's report on one pod: its status, or that the back end no longer holds it. */
export type PodUpdate = { readonly ref: PodRef; readonly status: ProviderPodStatus } | { readonly ref: PodRef; readonly gone: true };

/** Options of {@link PodLifecycleHandler.deletePod}. */
export interface DeletePodOptions {
  /** Seconds from now that the containers have to end by themselves; 0 ends them at once. */
  readonly gracePeriodSeconds: number;
}

/** The parts of a pod that may change while it runs and that a provider is told about. */
export type PodPart =
  | "spec.containers"
  | "spec.initContainers"
  | "spec.ephemeralContainers"
  | "spec.activeDeadlineSeconds"
  | "spec.tolerations"
  | "spec.resources"
  | "metadata.labels"
  | "metadata.annotations";

/** The difference that {@link PodLifecycleHandler.updatePod} applies. */
export interface PodChanges {
  /** The pod as last passed to the provider; `undefined` when that is not known, for example after a restart. */
  readonly previous: DeepReadonly<Pod> | undefined;
  /** The parts that differ, or may differ. */
  readonly parts: readonly PodPart[];
}

/**
 * The six methods of every provider. They are called concurrently for different pods, never twice at once for
 * one pod; `getPods`, `getPod` and `getPodStatus` may be called at any time. Errors are matched by their errdefs code; a call that fails
 * with an error without a code is retried with back-off. Every call has a deadline: `signal` aborts then, and at shutdown.
 */
export interface PodLifecycleHandler {
  /**
   * Makes the back end run the pod; returns when the back end has accepted it, without waiting for containers to run.
   * Must be idempotent by UID: when it is called again after an unclear outcome, it adopts what it finds. The pod is shared with the
   * controller and must not be changed.
   *
   * @throws UnsupportedError to leave the pod Pending with its field named; InvalidInputError to leave it Pending;
   * TerminalError to make it Failed, with the error's reason if it has one.
   */
  createPod(pod: DeepReadonly<Pod>, resolved: ResolvedPod, signal: AbortSignal): Promise<void>;
  /**
   * Applies a changed spec, labels or annotations. A pod whose update fails keeps its phase. New resources come only once the node has
   * room for them; a resize refused with an UnsupportedError, InvalidInputError or TerminalError is shown as Infeasible.
   *
   * @param changes - the difference from the pod that the provider was last given
   */
  updatePod(pod: DeepReadonly<Pod>, resolved: ResolvedPod, signal: AbortSignal, changes: PodChanges): Promise<void>;
  /**
   * Ends the pod's containers within the grace period and then frees what it used; returns when the back end has
   * accepted the request, without waiting for the containers. Report the end as a status in which every container has
   * terminated, or as `gone`; with `endsWhenGone` only as `gone`. A further call with less grace shortens the remaining time. Must be
   * idempotent.
   *
   * @throws NotFoundError when there is no such pod; that counts as success.
   */
  deletePod(ref: PodRef, options: DeletePodOptions, signal: AbortSignal): Promise<void>;
  /** @throws NotFoundError when the back end holds no pod of that UID. Any other error means "unknown". */
  getPod(ref: PodRef, signal: AbortSignal): Promise<ProviderPod>;
  /**
   * Returns the pod's status alone. Called when the state of one pod is unclear: it should have ended and nothing was reported,
   * or `getPods` does not answer.
   *
   * @throws NotFoundError when the back end holds no pod of that UID. Any other error means "unknown".
   */
  getPodStatus(ref: PodRef, signal: AbortSignal): Promise<ProviderPodStatus>;
  /**
   * Returns all pods of this cluster and node. Never called twice at once. Its deadline is at most a minute; while a call takes longer than
   * ten seconds, a provider that does not notify is asked about single pods with {@link getPodStatus}.
   */
  getPods(signal: AbortSignal): Promise<ProviderPodList>;
}

/** A provider that reports changes of its pods. One that does not is polled: one `getPods` an interval. */
export interface PodNotifier {
  /**
   * Called once, before any other method of {@link PodLifecycleHandler}. The listener returns at once, keeps only the
   * latest report of each pod, and may be called at any time, also from inside another call.
   */
  notifyPods(listener: (update: PodUpdate) => void): void;
}
