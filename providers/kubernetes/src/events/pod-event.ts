import type { PodEvent } from "@virtual-kubelet/core";
import type { CoreEvent, DeepReadonly } from "@virtual-kubelet/kube-client";

const containerPath = /^spec\.(?:initContainers|containers|ephemeralContainers)\{(.+)\}$/;

/** Returns an event of a far pod as one of its home pod; `undefined` for one without a reason. Names of the far cluster stay in the message. */
export function podEventOf({ type, reason, message, involvedObject }: DeepReadonly<CoreEvent>): PodEvent | undefined {
  if (!reason) return undefined;
  const [, container] = containerPath.exec(involvedObject?.fieldPath ?? "") ?? [];
  return { type: type === "Warning" ? "Warning" : "Normal", reason, message: message ?? "", container };
}
