import type { PodRef } from "@virtual-kubelet/core";
import type { ObjectMeta } from "@virtual-kubelet/kube-client";
import { farPodName } from "../identity/names.ts";
import { ownerTags, tagAnnotations, tagLabels, type FarOwner } from "../identity/tags.ts";

/** Metadata of the far pod of a home pod, in the namespace `far`, with the far UID `far-NAME`. */
export function farMetadata(owner: FarOwner, home: PodRef): ObjectMeta {
  const { labels, annotations } = ownerTags(owner);
  return {
    namespace: "far",
    name: farPodName(owner, home),
    uid: `far-${home.name}`,
    labels: { ...labels, [tagLabels.podUid]: home.uid },
    annotations: { ...annotations, [tagAnnotations.pod]: `${home.namespace}/${home.name}` },
  };
}
