import type { FieldError } from "../kind.ts";
import { duplicate, forbiddenField, invalidValue, notSupported, required, tooLong } from "../validation/field-errors.ts";
import { each } from "../validation/labels.ts";
import { idProblems } from "../validation/names.ts";
import type { Container, ContainerStatus, PodSpec, ResourceHealth } from "./pod-fields.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/core/validation/validation.go, ValidatePodStatusUpdate. */

type Statuses = readonly ContainerStatus[] | undefined;

const healths = ["Healthy", "Unhealthy", "Unknown"];
const maxHealthMessageBytes = 1024;
const claimRule =
  "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty";

export function containerUserErrors(statuses: Statuses, field: string, { os }: PodSpec): FieldError[] {
  return (statuses ?? []).flatMap(({ user }, index) => {
    const path = `${field}[${index}].user.linux`;
    if (user?.linux === undefined) return [];
    if (os?.name === "windows") return [forbiddenField(path, "cannot be set for a windows pod")];
    const { uid, gid, supplementalGroups = [] } = user.linux;
    return [
      ...each(`${path}.uid`, uid, idProblems(uid)),
      ...each(`${path}.gid`, gid, idProblems(gid)),
      ...supplementalGroups.flatMap((group, at) => each(`${path}.supplementalGroups[${at}]`, group, idProblems(group))),
    ];
  });
}

/** A status of a container that the spec lacks is compared with nothing. */
export function allocatedResourcesErrors(
  statuses: Statuses,
  field: string,
  containers: readonly Container[] | null | undefined,
): FieldError[] {
  return (statuses ?? []).flatMap(({ name, allocatedResourcesStatus = [] }, index) => {
    const container = containers?.find((one) => one.name === name);
    return allocatedResourcesStatus.flatMap((allocated, at) => {
      const path = `${field}[${index}].allocatedResourcesStatus[${at}]`;
      const isClaim = allocated.name.startsWith("claim:");
      const isKnown = container === undefined || (isClaim ? claimNames(container) : requestNames(container)).includes(allocated.name);
      const rule = isClaim ? claimRule : "must match one of the container's resource requests";
      return [
        ...(isKnown ? [] : [invalidValue(`${path}.name`, allocated.name, rule)]),
        ...healthErrors(allocated.resources ?? [], `${path}.resources`),
      ];
    });
  });
}

/** An ephemeral container has no resources. */
export function noAllocatedResourcesErrors(statuses: Statuses, field: string): FieldError[] {
  return (statuses ?? []).flatMap(({ allocatedResourcesStatus = [] }, index) =>
    allocatedResourcesStatus.length === 0
      ? []
      : [forbiddenField(`${field}[${index}].allocatedResourcesStatus`, "must not be specified in container status")],
  );
}

function claimNames({ resources: { claims = [] } }: Container): string[] {
  return claims.map(({ name, request = "" }) => `claim:${name}${request === "" ? "" : `/${request}`}`);
}

function requestNames({ resources: { requests = {} } }: Container): string[] {
  return Object.keys(requests);
}

function healthErrors(resources: readonly ResourceHealth[], field: string): FieldError[] {
  const ids = new Set<string>();
  return resources.flatMap(({ resourceID, health = "", message }, index) => {
    const path = `${field}[${index}]`;
    const errors = healths.includes(health) ? [] : [notSupported(`${path}.health`, health, healths)];
    if (message === "") errors.push(required(`${path}.message`, "must be non-empty if specified"));
    else if (message !== undefined && Buffer.byteLength(message) > maxHealthMessageBytes)
      errors.push(tooLong(`${path}.message`, maxHealthMessageBytes));
    if (ids.has(resourceID)) errors.push(duplicate(`${path}.resourceID`, resourceID));
    ids.add(resourceID);
    return errors;
  });
}
