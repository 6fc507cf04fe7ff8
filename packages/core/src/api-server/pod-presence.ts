import { UnavailableError } from "@virtual-kubelet/errdefs";
import { resources, type KubeClient, type ObjectMeta } from "@virtual-kubelet/kube-client";
import { isGoneObject } from "./gone-object.ts";
import type { PodRef } from "../provider/pod-ref.ts";

/** Whether the API server has a pod: as wanted, while it is being deleted, or not at all. */
export type PodPresence = "wanted" | "terminating" | "gone";

/**
 * Asks the API server about the pod with that UID, which is gone also if another pod has its name.
 *
 * @throws if the result is unclear: the API server does not answer, or something else answers in its place
 */
export async function podPresence(client: Pick<KubeClient, "get">, ref: PodRef, signal: AbortSignal): Promise<PodPresence> {
  try {
    const { metadata } = await client.get(resources.pods, ref, { signal });
    if (metadata?.uid) return presenceOf(metadata, ref);
  } catch (error) {
    if (isGoneObject(error, resources.pods, ref.name)) return "gone";
    throw error;
  }
  throw new UnavailableError(`get pods ${ref.namespace}/${ref.name}: the answer has no metadata.uid, expected that of the pod`);
}

function presenceOf({ uid, deletionTimestamp }: ObjectMeta, ref: PodRef): PodPresence {
  if (uid !== ref.uid) return "gone";
  return deletionTimestamp ? "terminating" : "wanted";
}

/** Asks the API server whether the pod with that UID is gone; see {@link podPresence}. */
export async function isPodGone(client: Pick<KubeClient, "get">, ref: PodRef, signal: AbortSignal): Promise<boolean> {
  return (await podPresence(client, ref, signal)) === "gone";
}
