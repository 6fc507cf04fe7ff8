import { policyVerdict, type PodPolicy } from "@virtual-kubelet/core";
import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";

/** Path of ephemeral containers in the refusals of a policy. */
const ephemeralPath = "spec.ephemeralContainers[0]";

/**
 * Returns a running pod without the ephemeral containers that the policy refuses. They come after the core has judged the pod, and the core
 * passes a changed pod as it is, and tells what is not allowed.
 */
export function allowedPod(pod: DeepReadonly<Pod>, policy: PodPolicy): DeepReadonly<Pod> {
  const { spec } = pod;
  if (!spec?.ephemeralContainers?.length) return pod;
  const ephemeralContainers = spec.ephemeralContainers.filter((container) => {
    const verdict = policyVerdict({ ...pod, spec: { ...spec, ephemeralContainers: [container] } }, policy);
    return verdict.kind !== "refused" || !verdict.refusals.some(({ fieldPath }) => fieldPath.startsWith(ephemeralPath));
  });
  return { ...pod, spec: { ...spec, ephemeralContainers } };
}
