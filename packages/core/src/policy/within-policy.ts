import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import { refusalsOf, type ProviderLimits } from "../unsupported/provider-limits.ts";

const annotationPath = /^metadata\.annotations\['(.+)'\]$/;

/** Returns the pod without the ephemeral containers that the policy refuses: the others, and all else of the pod, run without them. */
export function withoutRefusedContainers(pod: DeepReadonly<Pod>, limits: ProviderLimits): DeepReadonly<Pod> {
  const { spec } = pod;
  if (!spec?.ephemeralContainers?.length) return pod;
  const refused = refusalsOf(pod, limits).map(({ fieldPath }) => fieldPath);
  const ephemeralContainers = spec.ephemeralContainers.filter(
    (_, index) => !refused.some((path) => path.startsWith(`spec.ephemeralContainers[${index}].`)),
  );
  return ephemeralContainers.length === spec.ephemeralContainers.length ? pod : { ...pod, spec: { ...spec, ephemeralContainers } };
}

/** Returns a running pod without the annotations that the policy refuses, which it may have got since its start. */
export function withoutRefusedAnnotations(pod: DeepReadonly<Pod>, limits: ProviderLimits): DeepReadonly<Pod> {
  const { annotations } = pod.metadata ?? {};
  if (!annotations) return pod;
  const refused = new Set(refusalsOf(pod, limits).map(({ fieldPath }) => annotationPath.exec(fieldPath)?.[1]));
  const allowed = Object.entries(annotations).filter(([key]) => !refused.has(key));
  return allowed.length === Object.keys(annotations).length
    ? pod
    : { ...pod, metadata: { ...pod.metadata, annotations: Object.fromEntries(allowed) } };
}
