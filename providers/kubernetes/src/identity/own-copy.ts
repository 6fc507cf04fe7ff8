import type { DeepReadonly, ObjectMeta } from "@virtual-kubelet/kube-client";
import { copyName, podSecretName } from "./names.ts";
import { homePodOf, isOwnedBy, tagAnnotations, type FarOwner } from "./tags.ts";

/** Whether an object is an owner's copy, or the secret of one of its pods: by its tags, and by the name that follows from them. */
export function isOwnCopy(kind: "ConfigMap" | "Secret", metadata: DeepReadonly<ObjectMeta> | undefined, owner: FarOwner): boolean {
  if (!isOwnedBy(metadata, owner)) return false;
  const pod = homePodOf(metadata);
  if (pod) return kind === "Secret" && metadata?.name === podSecretName(owner, pod);
  const [namespace, name, ...rest] = (metadata?.annotations?.[tagAnnotations.copyOf] ?? "").split("/");
  return (
    namespace !== undefined && name !== undefined && rest.length === 0 && metadata?.name === copyName(owner, kind, { namespace, name })
  );
}
