import type { Container, DeepReadonly, Pod, RegistryCredentials } from "@virtual-kubelet/core";
import type { DesiredContainer } from "../pod/desired-pod.ts";
import type { PodState } from "../pod/pod-state.ts";
import type { ContainerSpec, ResourceLimits, SandboxSpec } from "../runtime/runtime-spec.ts";

/** Turns a pod's spec into what a runtime takes. What it throws leaves the pod waiting, and is tried again. */
export interface PodPreparation {
  /**
   * Names, addresses and all else that a pod's containers share.
   *
   * @param attempt - counts the pod's sandboxes
   */
  sandbox(state: PodState, attempt: number, signal: AbortSignal): Promise<SandboxSpec>;
  /** Environment, files and all else of one start of a container. */
  container(start: ContainerStart, signal: AbortSignal): Promise<ContainerSpec>;
  /** What a container of the pod may use, as in its {@link ContainerSpec}. */
  limits(pod: DeepReadonly<Pod>, container: DeepReadonly<Container>): ResourceLimits;
  /** Credentials for the registry of a pod's image, the most fitting first. */
  credentials(pod: DeepReadonly<Pod>, image: string, signal: AbortSignal): Promise<readonly RegistryCredentials[]>;
}

/** One start of a container. */
export interface ContainerStart {
  readonly state: PodState;
  readonly desired: DesiredContainer;
  readonly attempt: number;
  /** By content. */
  readonly imageId: string;
  /** The images of its volumes that are some, by content, by the volumes' names. Default: it has none. */
  readonly volumeImages?: ReadonlyMap<string, string> | undefined;
}
