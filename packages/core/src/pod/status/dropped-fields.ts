import type { ContainerStatus, DeepReadonly, Pod, PodStatus } from "@virtual-kubelet/kube-client";
import { isSameJson } from "../../api-server/json-equality.ts";
import { podStatusPatch } from "./pod-status-patch.ts";

/** Returns the status without one field. */
type Strip = (status: DeepReadonly<PodStatus>) => DeepReadonly<PodStatus>;

/**
 * Fields that API servers drop without refusing the status: older ones do not know them, and in others their feature is off.
 * Source: dropDisabledPodStatusFields in kubernetes v1.36.3 pkg/api/pod/util.go.
 */
const optionalFields: Readonly<Record<string, Strip>> = {
  resources: ({ resources: _, ...status }) => status,
  allocatedResources: ({ allocatedResources: _, ...status }) => status,
  "containerStatuses.allocatedResourcesStatus": inContainers(({ allocatedResourcesStatus: _, ...status }) => status),
  "containerStatuses.allocatedResourcesStatus.resources.message": inContainers((status) => ({
    ...status,
    allocatedResourcesStatus: status.allocatedResourcesStatus?.map((allocated) => ({
      ...allocated,
      resources: allocated.resources?.map(({ message: _, ...resource }) => resource),
    })),
  })),
  "containerStatuses.volumeMounts.volumeStatus": inContainers((status) => ({
    ...status,
    volumeMounts: status.volumeMounts?.map(({ volumeStatus: _, ...mount }) => mount),
  })),
};

function inContainers(strip: (status: DeepReadonly<ContainerStatus>) => DeepReadonly<ContainerStatus>): Strip {
  return (status) => ({
    ...status,
    initContainerStatuses: status.initContainerStatuses?.map(strip),
    containerStatuses: status.containerStatuses?.map(strip),
    ephemeralContainerStatuses: status.ephemeralContainerStatuses?.map(strip),
  });
}

/** The fields that this API server drops from the statuses of pods. They are not written, and their absence is no difference. */
export class DroppedFields {
  readonly #names = new Set<string>();

  /** Returns the status without the fields. */
  strip<T extends DeepReadonly<PodStatus> | undefined>(status: T): T {
    if (status === undefined || this.#names.size === 0) return status;
    let stripped: DeepReadonly<PodStatus> = status;
    for (const name of this.#names) stripped = optionalFields[name]?.(stripped) ?? stripped;
    return stripped as T;
  }

  /**
   * Learns from the object with which the API server answered a write of the wanted status.
   *
   * @returns the fields that are dropped, if they explain the whole difference; otherwise none
   */
  learn(stored: DeepReadonly<Pod>, wanted: DeepReadonly<PodStatus>): readonly string[] {
    if (stored.status === wanted || podStatusPatch(stored, wanted) === undefined) return [];
    const dropped = Object.entries(optionalFields).filter(
      ([, strip]) => !isSameJson(strip(wanted), wanted) && isSameJson(strip(stored.status ?? {}), stored.status ?? {}),
    );
    const rest = dropped.reduce((status, [, strip]) => strip(status), wanted);
    if (dropped.length === 0 || podStatusPatch(stored, rest) !== undefined) return [];
    for (const [name] of dropped) this.#names.add(name);
    return dropped.map(([name]) => name);
  }

  /** Forgets the fields, because another API server may answer from now on. */
  forget(): void {
    this.#names.clear();
  }
}
