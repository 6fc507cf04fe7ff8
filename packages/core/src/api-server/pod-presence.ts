import { UnavailableError } from "@virtual-kubelet/errdefs";
import { isGoneObject, resources, type KubeClient, type Pod } from "@virtual-kubelet/kube-client";
import { isTerminalPhase } from "../pod/status/pod-phase.ts";
import type { PodRef } from "../provider/pod-ref.ts";

/** Whether the API server has a pod: as wanted, being deleted or with a final phase, or not at all. */
export type PodPresence = "wanted" | "ending" | "gone";

/**
 * Asks the API server about the pod with that UID, which is gone also if another pod has its name.
 *
 * @throws if the result is unclear: the API server does not answer, or something else answers in its place
 */
export async function podPresence(client: Pick<KubeClient, "get">, ref: PodRef, signal: AbortSignal): Promise<PodPresence> {
  try {
    const pod = await client.get(resources.pods, ref, { signal });
    if (pod.metadata?.uid) return presenceOf(pod, ref);
  } catch (error) {
    if (isGoneObject(error, resources.pods, ref.name)) return "gone";
    throw error;
  }
  throw new UnavailableError(`get pods ${ref.namespace}/${ref.name}: the answer has no metadata.uid, expected that of the pod`);
}

function presenceOf({ metadata, status }: Pod, ref: PodRef): PodPresence {
  if (metadata?.uid !== ref.uid) return "gone";
  return metadata.deletionTimestamp || isTerminalPhase(status?.phase) ? "ending" : "wanted";
}

/** Asks the API server whether the pod with that UID is gone; see {@link podPresence}. */
export async function isPodGone(client: Pick<KubeClient, "get">, ref: PodRef, signal: AbortSignal): Promise<boolean> {
  return (await podPresence(client, ref, signal)) === "gone";
}
