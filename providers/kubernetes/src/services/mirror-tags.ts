import type { DeepReadonly, KubernetesObject, ObjectMeta } from "@virtual-kubelet/kube-client";
import { isOwnedBy, labelValue, tagAnnotations, type FarOwner } from "../identity/tags.ts";

/** Labels of mirrored Services and EndpointSlices, in either cluster. */
export const mirrorLabels = {
  /** Virtual node whose program wrote the object last. What has this label is never mirrored again, whoever wrote it. */
  mirror: "virtual-kubelet.io/mirror",
  /** Only at home: UID of the mirror's owner object in the far namespace. It identifies the pair of clusters for all virtual nodes. */
  pair: "virtual-kubelet.io/mirror-pair",
} as const;

/** Hash of everything that the mirror wrote, so that a field which has to go is noticed. */
export const digestAnnotation = "virtual-kubelet.io/mirror-digest";

/** Beginning of labels and annotations that never travel. */
export const ownPrefix = "virtual-kubelet.io/";

/** Which way a Service is mirrored. */
export type MirrorDirection = "toFar" | "toHome";

/** Namespace and name of a Service or EndpointSlice. */
export interface MirrorRef {
  readonly namespace: string;
  readonly name: string;
}

/**
 * Owner of what all virtual nodes of a home cluster mirror to the far cluster, so that a Service stays when one of the nodes goes. No node can
 * have this name.
 */
export function mirrorOwner(clusterId: string): FarOwner {
  return { clusterId, nodeName: "service_mirror" };
}

/**
 * The object as this node's program writes it. Which node writes is no part of what is wanted: any node of the pair of clusters may have
 * written it.
 */
export function writtenBy<T extends KubernetesObject>(object: T, nodeName: string): T {
  const { metadata } = object;
  return { ...object, metadata: { ...metadata, labels: { ...metadata?.labels, [mirrorLabels.mirror]: labelValue(nodeName) } } };
}

/** Whether a mirror wrote the object: this one, or one between other clusters. */
export function isMirrored(metadata: DeepReadonly<ObjectMeta> | undefined): boolean {
  return metadata?.labels?.[mirrorLabels.mirror] !== undefined;
}

/** Whether a far object was mirrored from this home cluster, by any of its virtual nodes. */
export function isFarMirror(metadata: DeepReadonly<ObjectMeta> | undefined, clusterId: string): boolean {
  return isMirrored(metadata) && isOwnedBy(metadata, mirrorOwner(clusterId));
}

/**
 * Whether an object at home was mirrored from a far cluster, by any node. This cluster may itself be the far cluster of others, whose copies
 * here have no pair, and whose virtual nodes may have the names of ours.
 */
export function isHomeMirror(metadata: DeepReadonly<ObjectMeta> | undefined): boolean {
  return isMirrored(metadata) && metadata?.labels?.[mirrorLabels.pair] !== undefined && sourceOf(metadata) !== undefined;
}

/** Whether one of these nodes wrote the object last. */
export function isWrittenBy(metadata: DeepReadonly<ObjectMeta> | undefined, nodeNames: ReadonlySet<string>): boolean {
  const value = metadata?.labels?.[mirrorLabels.mirror];
  return [...nodeNames].some((name) => labelValue(name) === value);
}

/** The object of which this one is a copy; `undefined` if its annotation is missing or damaged. */
export function sourceOf(metadata: DeepReadonly<ObjectMeta> | undefined): MirrorRef | undefined {
  const [namespace, name, ...rest] = (metadata?.annotations?.[tagAnnotations.copyOf] ?? "").split("/");
  return namespace && name && rest.length === 0 ? { namespace, name } : undefined;
}
