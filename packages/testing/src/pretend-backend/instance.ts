import type { DeepReadonly, Owner, Pod, PodRef } from "@virtual-kubelet/core";

/** What an instance of a pretend back end does. */
export type InstanceState =
  /** Accepted; its containers start after the start delay. */
  | { readonly kind: "starting"; readonly runsAtMs: number }
  | { readonly kind: "running"; readonly startedAtMs: number }
  /** Told to end; it does so at `endsAtMs`, by itself or because the grace is over. */
  | { readonly kind: "stopping"; readonly startedAtMs: number | undefined; readonly endsAtMs: number; readonly killed: boolean }
  /** All its containers have ended; it is kept until it is deleted. */
  | { readonly kind: "ended"; readonly startedAtMs: number | undefined; readonly endedAtMs: number; readonly exitCode: number };

/** One thing a pretend back end runs for a pod. Another create makes another instance, with another id. */
export interface Instance {
  readonly instanceId: string;
  readonly ref: PodRef;
  readonly owner: Owner;
  readonly createdAtMs: number;
  readonly podIP: string;
  readonly state: InstanceState;
  /** Containers of the pod, as far as their statuses need them. */
  readonly containers: readonly InstanceContainer[];
  readonly initContainers: readonly InstanceContainer[];
}

/** A container of an {@link Instance}. */
export interface InstanceContainer {
  readonly name: string;
  readonly image: string;
}

/** What a pretend back end is asked to run. */
export interface InstanceRequest {
  readonly ref: PodRef;
  readonly owner: Owner;
  readonly containers: readonly InstanceContainer[];
  readonly initContainers: readonly InstanceContainer[];
}

/** What is to be run for a pod. */
export function toInstanceRequest(pod: DeepReadonly<Pod>, owner: Owner): InstanceRequest {
  const { namespace = "", name = "", uid = "" } = pod.metadata ?? {};
  const container = ({
    name: containerName,
    image = "",
  }: {
    readonly name: string;
    readonly image?: string | undefined;
  }): InstanceContainer => ({
    name: containerName,
    image,
  });
  return {
    ref: { namespace, name, uid },
    owner,
    containers: (pod.spec?.containers ?? []).map(container),
    initContainers: (pod.spec?.initContainers ?? []).map(container),
  };
}
