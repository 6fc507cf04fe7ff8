import type { PodRef } from "@virtual-kubelet/core";
import type { DeepReadonly, ObjectMeta } from "@virtual-kubelet/kube-client";
import { farPodName } from "./names.ts";
import { homePodOf, isOwnedBy, type FarOwner } from "./tags.ts";

/**
 * Returns the home pod of an owner's far pod; `undefined` for any other pod. A copy of a far pod, with all its tags but another name, is not
 * ours.
 */
export function ownPodRef(metadata: DeepReadonly<ObjectMeta> | undefined, owner: FarOwner): PodRef | undefined {
  if (!isOwnedBy(metadata, owner)) return undefined;
  const ref = homePodOf(metadata);
  return ref && metadata?.name === farPodName(owner, ref) ? ref : undefined;
}
