import type { DeepReadonly } from "@virtual-kubelet/kube-client";
import type { Volume } from "./scope.ts";

/** Whether a volume is the one with the service account's token that the API server's admission adds to a pod. */
export function isTokenVolume({ name, projected }: DeepReadonly<Volume>): boolean {
  return name.startsWith("kube-api-access-") && projected !== undefined;
}
