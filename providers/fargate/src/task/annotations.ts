import type { PolicyAnnotation } from "@virtual-kubelet/core";

/** Domain of the provider's annotations. */
export const annotationDomain = "fargate.virtual-kubelet.io";

/** Annotation of aws-fargate and kube2iam for the role of a pod's containers. */
export const taskRoleAnnotation = "iam.amazonaws.com/role";

/**
 * Annotations that give a pod something of the AWS account. The platform version and the choice against exec are not among them, because
 * they give access to nothing.
 */
export const policyAnnotations: readonly PolicyAnnotation[] = [
  { name: taskRoleAnnotation },
  { name: `${annotationDomain}/execution-role` },
  { name: `${annotationDomain}/subnets`, separator: "," },
  { name: `${annotationDomain}/security-groups`, separator: "," },
  { name: `${annotationDomain}/assign-public-ip` },
  { name: `${annotationDomain}/capacity-provider` },
  { name: `${annotationDomain}/secrets`, separator: "," },
  { name: `${annotationDomain}/repository-credentials` },
];
