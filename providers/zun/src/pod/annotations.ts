import type { PolicyAnnotation } from "@virtual-kubelet/core";

/** Domain of the provider's annotations. */
export const annotationDomain = "zun.virtual-kubelet.io";

/** Annotations with which a pod chooses resources of the project. The mode is not among them, because it gives a pod no access to anything. */
export const policyAnnotations: readonly PolicyAnnotation[] = [
  { name: `${annotationDomain}/networks`, separator: "," },
  { name: `${annotationDomain}/subnets`, separator: "," },
  { name: `${annotationDomain}/security-groups`, separator: "," },
  { name: `${annotationDomain}/fixed-ip` },
  { name: `${annotationDomain}/floating-ip` },
  { name: `${annotationDomain}/availability-zone` },
  { name: `${annotationDomain}/registry` },
];
