import type { Container, DeepReadonly, Pod, RegistryCredentials } from "@virtual-kubelet/core";
import type { DesiredContainer } from "../pod/desired-pod.ts";
import type { PodState } from "../pod/pod-state.ts";
import type { ContainerSpec, ResourceLimits, SandboxSpec } from "../runtime/runtime-spec.ts";

/** Translates a pod's spec into the runtime's specs. After an error the pod stays waiting, and the call is retried. */
export interface PodPreparation {
  /**
   * Spec of everything that the pod's containers share.
   *
   * @param attempt - number of the pod's sandbox
   */
  sandbox(state: PodState, attempt: number, signal: AbortSignal): Promise<SandboxSpec>;
  /** Spec of one start of a container: environment, files and so on. */
  container(start: ContainerStart, signal: AbortSignal): Promise<ContainerSpec>;
  /** Limits of a container, as in its {@link ContainerSpec}. */
  limits(pod: DeepReadonly<Pod>, container: DeepReadonly<Container>): ResourceLimits;
  /** Registry credentials for an image of the pod, the best match first. */
  credentials(pod: DeepReadonly<Pod>, image: string, signal: AbortSignal): Promise<readonly RegistryCredentials[]>;
}

/** A container that is about to be started. */
export interface ContainerStart {
  readonly state: PodState;
  readonly desired: DesiredContainer;
  readonly attempt: number;
  /** By content. */
  readonly imageId: string;
  /** Images of the volumes of type image: volume name ▶ image id by content. Default: none. */
  readonly volumeImages?: ReadonlyMap<string, string> | undefined;
}
