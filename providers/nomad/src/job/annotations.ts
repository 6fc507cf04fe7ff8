import type { PolicyAnnotation } from "@virtual-kubelet/core";

/** Prefix of the provider's annotations. */
export const annotationDomain = "nomad.hashicorp.com";

/** Annotations by which a pod chooses where and how its job runs. */
export const policyAnnotations: readonly PolicyAnnotation[] = [
  { name: `${annotationDomain}/driver` },
  { name: `${annotationDomain}/datacenters`, separator: "," },
  { name: `${annotationDomain}/node-pool` },
  { name: `${annotationDomain}/constraint`, separator: ";" },
];
