import type { PodRef } from "@virtual-kubelet/core";
import type { DeepReadonly, ObjectMeta } from "@virtual-kubelet/kube-client";
import { shortHash } from "./short-hash.ts";

/** Labels by which far objects are found. A value that is no label value is replaced by its hash. */
export const tagLabels = {
  /** Id of the home cluster. */
  cluster: "virtual-kubelet.io/cluster",
  /** The virtual node. */
  node: "virtual-kubelet.io/node",
  /** UID of the home pod; only on objects of a single pod. */
  podUid: "virtual-kubelet.io/pod-uid",
  /** Namespace of the home pod; only on pods. Keeps home namespaces apart that share a far one. */
  namespace: "virtual-kubelet.io/namespace",
  /** `true` on the object that owns all others of its node in a namespace. */
  ownerObject: "virtual-kubelet.io/owner-object",
} as const;

/** Annotations that say in full what the labels say, and for whom an object is. */
export const tagAnnotations = {
  cluster: "virtual-kubelet.io/cluster",
  node: "virtual-kubelet.io/node",
  /** `namespace/name` of the home pod. */
  pod: "virtual-kubelet.io/pod",
  /** `namespace/name` of the home object of which this one is a copy. */
  copyOf: "virtual-kubelet.io/copy-of",
  /** UID and resourceVersion of that object when it was copied; of a claim, the UID. */
  copyVersion: "virtual-kubelet.io/copy-version",
  /** Controller of the home pod: `ReplicaSet/web-5d4f`. */
  controller: "virtual-kubelet.io/home-controller",
  /** On the far pod of a pod that is a far pod itself: ids of the home clusters before the last one, as JSON. */
  earlierClusters: "virtual-kubelet.io/earlier-clusters",
  /** On a pod: which labels, annotations and images it has from home, as JSON. Others are not ours. */
  carried: "virtual-kubelet.io/carried",
} as const;

/** Owner of far objects: a virtual node of a home cluster. */
export interface FarOwner {
  readonly clusterId: string;
  readonly nodeName: string;
}

/** Labels and annotations that mark an object as ours. */
export function ownerTags({ clusterId, nodeName }: FarOwner): {
  readonly labels: Record<string, string>;
  readonly annotations: Record<string, string>;
} {
  return {
    labels: { [tagLabels.cluster]: labelValue(clusterId), [tagLabels.node]: labelValue(nodeName) },
    annotations: { [tagAnnotations.cluster]: clusterId, [tagAnnotations.node]: nodeName },
  };
}

/** Whether an object is this owner's, by label and by annotation. */
export function isOwnedBy(metadata: DeepReadonly<ObjectMeta> | undefined, owner: FarOwner): boolean {
  const { labels, annotations } = ownerTags(owner);
  return (
    Object.entries(labels).every(([key, value]) => metadata?.labels?.[key] === value) &&
    Object.entries(annotations).every(([key, value]) => metadata?.annotations?.[key] === value)
  );
}

/** The home pod of a far pod; `undefined` if its tags are incomplete. */
export function homePodOf(metadata: DeepReadonly<ObjectMeta> | undefined): PodRef | undefined {
  const uid = metadata?.labels?.[tagLabels.podUid];
  const [namespace, name, ...rest] = (metadata?.annotations?.[tagAnnotations.pod] ?? "").split("/");
  return uid && namespace && name && rest.length === 0 ? { namespace, name, uid } : undefined;
}

/** Ids of the home clusters that have sent a pod here, the first one first; empty for a pod that is no far pod. */
export function homeClustersOf(metadata: DeepReadonly<ObjectMeta> | undefined): readonly string[] {
  const last = metadata?.annotations?.[tagAnnotations.cluster];
  if (last === undefined || metadata?.labels?.[tagLabels.cluster] !== labelValue(last)) return [];
  return [...earlierClusters(metadata.annotations?.[tagAnnotations.earlierClusters]), last];
}

/** Ids in the value of the annotation; none if somebody has damaged it. */
function earlierClusters(text = "[]"): readonly string[] {
  try {
    const ids: unknown = JSON.parse(text);
    return Array.isArray(ids) ? ids.filter((id) => typeof id === "string") : [];
  } catch {
    return [];
  }
}

/** Label selector of all objects of one home cluster, or of one of its nodes. */
export function ownerSelector({ clusterId, nodeName }: { readonly clusterId: string; readonly nodeName?: string | undefined }): string {
  const ofCluster = `${tagLabels.cluster}=${labelValue(clusterId)}`;
  return nodeName === undefined ? ofCluster : `${ofCluster},${tagLabels.node}=${labelValue(nodeName)}`;
}

/** The text itself if it is a label value, otherwise its hash. */
export function labelValue(text: string): string {
  return /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/.test(text) ? text : `hash-${shortHash(text)}`;
}
