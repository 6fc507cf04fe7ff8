import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";

/** Reference to one pod. The UID is its identity; namespace and name are for people and for back ends that show names. */
export interface PodRef {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** Returns the reference to a pod of the API server. */
export function podRef(pod: DeepReadonly<Pod>): PodRef {
  return { namespace: pod.metadata?.namespace ?? "default", name: pod.metadata?.name ?? "", uid: pod.metadata?.uid ?? "" };
}
