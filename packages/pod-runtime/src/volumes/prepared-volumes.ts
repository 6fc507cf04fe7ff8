import type { Container, DeepReadonly, Pod, PodRef } from "@virtual-kubelet/core";
import type { ContainerMount } from "../runtime/runtime-spec.ts";
import type { MountFacts } from "./container-mounts.ts";

/** The part of the volume manager that prepares containers. A pod's volumes are ready before its sandbox is created. */
export interface PreparedVolumes {
  /**
   * Mounts of a container for its pod's volumes, in the order of its spec.
   *
   * @throws InvalidInputError
   */
  mounts(
    pod: DeepReadonly<Pod>,
    container: DeepReadonly<Container>,
    facts: MountFacts,
    signal: AbortSignal,
  ): Promise<readonly ContainerMount[]>;
  /** The pod's folder on the node, for files such as `etc-hosts`. It is removed with the pod. */
  podFolder(pod: DeepReadonly<Pod>): string;
  /** Creates an empty, world-writable file for the termination message of one start of a container. @returns its path */
  createTerminationLog(pod: PodRef, container: string, attempt: number): Promise<string>;
}
