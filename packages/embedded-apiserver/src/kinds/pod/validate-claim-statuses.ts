import type { FieldError } from "../kind.ts";
import { duplicate, invalidValue, required } from "../validation/field-errors.ts";
import { each } from "../validation/labels.ts";
import { dnsLabelProblems, dnsSubdomainProblems } from "../validation/names.ts";
import type { PodSpec, PodStatus } from "./pod-fields.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/core/validation/validation.go. */

/** Source: validatePodResourceClaimStatuses. */
export function claimStatusErrors(statuses: PodStatus["resourceClaimStatuses"], { resourceClaims = [] }: PodSpec): FieldError[] {
  const names = new Set<string>();
  return (statuses ?? []).flatMap(({ name, resourceClaimName }, index) => {
    const path = `status.resourceClaimStatuses[${index}]`;
    const errors = resourceClaims.some((claim) => claim.name === name)
      ? []
      : [invalidValue(`${path}.name`, name, "must match the name of an entry in `spec.resourceClaims`")];
    if (names.has(name)) errors.push(duplicate(`${path}.name`, name));
    names.add(name);
    if (resourceClaimName !== undefined)
      errors.push(...each(`${path}.resourceClaimName`, resourceClaimName, dnsSubdomainProblems(resourceClaimName)));
    return errors;
  });
}

/** Source: validatePodExtendedResourceClaimStatus. */
export function extendedClaimStatusErrors(status: PodStatus["extendedResourceClaimStatus"], spec: PodSpec): FieldError[] {
  if (status === undefined) return [];
  const field = "status.extendedResourceClaimStatus";
  const { resourceClaimName } = status;
  const mappings = status.requestMappings ?? [];
  const seen = new Set<string>();
  return [
    ...(mappings.length === 0 ? [required(`${field}.requestMappings`, "at least one request mapping is required")] : []),
    ...mappings.flatMap(({ containerName, resourceName, requestName }, index) => {
      const path = `${field}.requestMappings[${index}]`;
      const container = [...(spec.containers ?? []), ...(spec.initContainers ?? [])].find(({ name }) => name === containerName);
      const errors: FieldError[] = [];
      if (container === undefined)
        errors.push(
          invalidValue(
            `${path}.containerName`,
            containerName,
            "must match the name of an entry in spec.initContainers.name or spec.containers.name",
          ),
        );
      else if (!Object.hasOwn(container.resources.requests ?? {}, resourceName))
        errors.push(
          invalidValue(
            `${path}.resourceName`,
            resourceName,
            "must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests",
          ),
        );
      // As on the real server, this field has no index.
      errors.push(...each(`${field}.requestName`, requestName, dnsLabelProblems(requestName)));
      const key = JSON.stringify([containerName, resourceName, requestName]);
      if (seen.has(key))
        errors.push(
          duplicate(`${path}.containerName`, containerName),
          duplicate(`${path}.resourceName`, resourceName),
          duplicate(`${path}.requestName`, requestName),
        );
      seen.add(key);
      return errors;
    }),
    ...(resourceClaimName === ""
      ? [required(`${field}.resourceClaimName`)]
      : each(`${field}.resourceClaimName`, resourceClaimName, dnsSubdomainProblems(resourceClaimName))),
  ];
}
