import { UnavailableError } from "@virtual-kubelet/errdefs";
import { resources, type KubeClient } from "@virtual-kubelet/kube-client";
import { isGoneObject } from "./gone-object.ts";
import type { PodRef } from "../provider/pod-ref.ts";

/**
 * Asks the API server whether the pod with that UID is gone, as it also is if another pod has its name.
 *
 * @throws if the result is unclear: the API server does not answer, or something else answers in its place
 */
export async function isPodGone(client: Pick<KubeClient, "get">, ref: PodRef, signal: AbortSignal): Promise<boolean> {
  try {
    const { metadata } = await client.get(resources.pods, ref, { signal });
    if (metadata?.uid) return metadata.uid !== ref.uid;
  } catch (error) {
    if (isGoneObject(error, resources.pods, ref.name)) return true;
    throw error;
  }
  throw new UnavailableError(`get pods ${ref.namespace}/${ref.name}: the answer has no metadata.uid, expected that of the pod`);
}
