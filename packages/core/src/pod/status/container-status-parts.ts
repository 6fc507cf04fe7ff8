import type { Container, ContainerStatus, DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import { isJsonObject } from "@virtual-kubelet/kubernetes";
import { statusText } from "./status-text.ts";

/** A container of a pod's spec, with which the API server compares the status of the container. */
export interface SpecifiedContainer {
  readonly kind: "init" | "main" | "ephemeral";
  readonly container: DeepReadonly<Container>;
  /** Whether the pod's spec says that it is for Windows. */
  readonly isWindows: boolean;
}

/** Whether a pod's spec says that it is for Windows. */
export function isForWindows({ spec }: DeepReadonly<Pod>): boolean {
  return spec?.os?.name === "windows";
}

/** Called for each value that is left out, with its field and the expected value. */
export type OnLeftOut = (field: string, value: unknown, expected: string) => undefined;

/** The fields of a container's status that the API server validates, apart from the container's states. */
export type ContainerStatusParts = Pick<ContainerStatus, "allocatedResourcesStatus" | "user" | "volumeMounts">;

type Reported = Partial<DeepReadonly<ContainerStatus>>;
type ResourceStatus = NonNullable<ContainerStatus["allocatedResourcesStatus"]>[number];
type ResourceHealth = NonNullable<ResourceStatus["resources"]>[number];
type VolumeMountStatus = NonNullable<ContainerStatus["volumeMounts"]>[number];

const maxId = 2 ** 31 - 1;
const maxImageRefBytes = 256;
const maxHealthMessageBytes = 1024;
const healths: readonly unknown[] = ["Healthy", "Unhealthy", "Unknown"];
const expectedId = `a whole number from 0 to ${maxId}`;

/**
 * Returns the validated fields of a container's status, without values that the API server would refuse: it refuses the whole status of the
 * pod for one of them. Values of a wrong type are left out, too.
 * Source: ValidatePodStatusUpdate in kubernetes v1.36.3 pkg/apis/core/validation/validation.go.
 */
export function containerStatusParts(status: Reported, spec: SpecifiedContainer, onLeftOut: OnLeftOut): ContainerStatusParts {
  return {
    allocatedResourcesStatus: resourceStatuses(status.allocatedResourcesStatus, spec, onLeftOut),
    volumeMounts: volumeMounts(status.volumeMounts, onLeftOut),
    user: containerUser(status.user, spec, onLeftOut),
  };
}

/** Source: validateContainerStatusAllocatedResourcesStatus and validateContainerStatusNoAllocatedResourcesStatus. */
function resourceStatuses(
  statuses: Reported["allocatedResourcesStatus"],
  { kind, container }: SpecifiedContainer,
  onLeftOut: OnLeftOut,
): ResourceStatus[] | undefined {
  const field = "allocatedResourcesStatus";
  const names = allocatedNames(container);
  return readEach(statuses, (status, index) => {
    const path = `${field}[${index}]`;
    const name = statusText(status["name"]);
    if (kind === "ephemeral") return onLeftOut(path, name, "none, because an ephemeral container has no resources");
    if (name === undefined || !names.has(name))
      return onLeftOut(
        `${path}.name`,
        name,
        "a resource that the container requests, or a claim of it as claim:NAME or claim:NAME/REQUEST",
      );
    return { name, resources: resourceHealths(status["resources"], `${path}.resources`, onLeftOut) };
  });
}

/** Returns the names under which the resources of a container have a status: those of its requests and of its claims. */
function allocatedNames({ resources }: DeepReadonly<Container>): ReadonlySet<string> {
  const claims = (resources?.claims ?? []).map(({ name, request }) => `claim:${name}${request ? `/${request}` : ""}`);
  return new Set([...Object.keys(resources?.requests ?? {}), ...claims]);
}

function resourceHealths(resources: unknown, field: string, onLeftOut: OnLeftOut): ResourceHealth[] | undefined {
  const ids = new Set<string>();
  return readEach(resources, (resource, index) => {
    const path = `${field}[${index}]`;
    const { health } = resource;
    const resourceID = statusText(resource["resourceID"]);
    if (resourceID === undefined || ids.has(resourceID)) return onLeftOut(`${path}.resourceID`, resourceID, "an ID, once");
    if (typeof health !== "string" || !healths.includes(health))
      return onLeftOut(`${path}.health`, health, "Healthy, Unhealthy or Unknown");
    ids.add(resourceID);
    return { resourceID, health, message: statusText(resource["message"], maxHealthMessageBytes) };
  });
}

/** The API server validates only the image of an image volume. Source: validateImageVolumeStatus. */
function volumeMounts(mounts: Reported["volumeMounts"], onLeftOut: OnLeftOut): VolumeMountStatus[] | undefined {
  return readEach(mounts, (mount, index) => {
    const name = statusText(mount["name"]);
    const mountPath = statusText(mount["mountPath"]);
    if (name === undefined || mountPath === undefined) return undefined;
    const imageRef = imageRefOf(mount["volumeStatus"], `volumeMounts[${index}].volumeStatus.image.imageRef`, onLeftOut);
    return {
      name,
      mountPath,
      readOnly: mount["readOnly"] === true || undefined,
      recursiveReadOnly: statusText(mount["recursiveReadOnly"]),
      volumeStatus: imageRef === undefined ? undefined : { image: { imageRef } },
    };
  });
}

function imageRefOf(volumeStatus: unknown, field: string, onLeftOut: OnLeftOut): string | undefined {
  const image = isJsonObject(volumeStatus) ? volumeStatus["image"] : undefined;
  const imageRef = statusText(isJsonObject(image) ? image["imageRef"] : undefined);
  if (imageRef === undefined || Buffer.byteLength(imageRef) <= maxImageRefBytes) return imageRef;
  return onLeftOut(field, imageRef, `at most ${maxImageRefBytes} bytes`);
}

/** Source: validateContainerStatusUsers and validateLinuxContainerUser. */
function containerUser(user: Reported["user"], { isWindows }: SpecifiedContainer, onLeftOut: OnLeftOut): ContainerStatusParts["user"] {
  const linux: unknown = isJsonObject(user) ? user["linux"] : undefined;
  if (!isJsonObject(linux)) return undefined;
  if (isWindows) return onLeftOut("user.linux", linux, "none in a pod for Windows");
  const { uid, gid, supplementalGroups } = linux;
  if (!isId(uid)) return onLeftOut("user.linux.uid", uid, expectedId);
  if (!isId(gid)) return onLeftOut("user.linux.gid", gid, expectedId);
  const groups = (Array.isArray(supplementalGroups) ? supplementalGroups : []).filter((group: unknown, index): group is number => {
    if (!isId(group)) onLeftOut(`user.linux.supplementalGroups[${index}]`, group, expectedId);
    return isId(group);
  });
  return { linux: { uid, gid, supplementalGroups: groups.length > 0 ? groups : undefined } };
}

function isId(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= maxId;
}

/** Returns what the function reads of each entry of a list, without entries for which it returns `undefined`; `undefined` if none remains. */
export function readEach<T>(
  list: unknown,
  read: (entry: Readonly<Record<string, unknown>>, index: number) => T | undefined,
): T[] | undefined {
  if (!Array.isArray(list)) return undefined;
  const entries = list
    .map((entry: unknown, index) => (isJsonObject(entry) ? read(entry, index) : undefined))
    .filter((entry) => entry !== undefined);
  return entries.length > 0 ? entries : undefined;
}
