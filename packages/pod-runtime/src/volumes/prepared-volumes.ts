import type { Container, DeepReadonly, Pod, PodRef } from "@virtual-kubelet/core";
import type { ContainerMount } from "../runtime/runtime-spec.ts";
import type { MountFacts } from "./container-mounts.ts";

/** The pods' volumes on the node's disk, and their folders. A pod's volumes are ready before its sandbox is made. */
export interface PreparedVolumes {
  /**
   * What the container mounts of them, in the order of its spec.
   *
   * @throws InvalidInputError
   */
  mounts(
    pod: DeepReadonly<Pod>,
    container: DeepReadonly<Container>,
    facts: MountFacts,
    signal: AbortSignal,
  ): Promise<readonly ContainerMount[]>;
  /** The pod's folder on the node, for files such as `etc-hosts`; it goes with the pod. */
  podFolder(pod: DeepReadonly<Pod>): string;
  /** Makes the empty file that one start of a container may write its termination message to, for all users. @returns its path */
  createTerminationLog(pod: PodRef, container: string, attempt: number): Promise<string>;
}
