import type { PolicyAnnotation } from "@virtual-kubelet/core";

/** Domain of the annotations that a pod may carry. */
export const annotationDomain = "zun.virtual-kubelet.io";

/** Annotations by which a pod chooses what of the project it uses. The mode is not one of them: it gives a pod nothing. */
export const policyAnnotations: readonly PolicyAnnotation[] = [
  { name: `${annotationDomain}/networks`, separator: "," },
  { name: `${annotationDomain}/subnets`, separator: "," },
  { name: `${annotationDomain}/security-groups`, separator: "," },
  { name: `${annotationDomain}/fixed-ip` },
  { name: `${annotationDomain}/floating-ip` },
  { name: `${annotationDomain}/availability-zone` },
  { name: `${annotationDomain}/registry` },
];
