import type { Container, DeepReadonly, Pod } from "@virtual-kubelet/core";
import { isSidecar } from "@virtual-kubelet/kubernetes";
import { createHash } from "node:crypto";
import { withPodLimits, type Resources } from "./resources.ts";
import { wholeResources } from "./whole-resources.ts";

/** The list of the spec that a container is from. A sidecar is an init container with `restartPolicy: Always`. */
export type ContainerRole = "init" | "sidecar" | "main" | "ephemeral";

/** One container of a pod's spec, with everything that decides how it is run. */
export interface DesiredContainer {
  readonly name: string;
  readonly role: ContainerRole;
  readonly container: DeepReadonly<Container>;
  /** A change means that the container must be restarted. */
  readonly specHash: string;
  /** The container's resources; the pod's limits fill in for limits that it does not set. */
  readonly effective: Resources;
}

/** The state that a pod's spec asks for. */
export interface DesiredPod {
  readonly pod: DeepReadonly<Pod>;
  /** Resources of the pod as a whole. */
  readonly whole: Resources;
  /** In start order. Ephemeral containers come last and wait for no other container. */
  readonly containers: readonly DesiredContainer[];
}

/** Reads a pod's spec. A pod without a spec has no containers. */
export function desiredPodOf(pod: DeepReadonly<Pod>): DesiredPod {
  const { spec } = pod;
  const containersOf = (role: ContainerRole | undefined, containers: readonly DeepReadonly<Container>[] | undefined): DesiredContainer[] =>
    (containers ?? []).map((container) => ({
      name: container.name,
      role: role ?? (isSidecar(container) ? "sidecar" : "init"),
      container,
      specHash: specHash(container),
      effective: withPodLimits(container.resources, spec?.resources?.limits),
    }));
  return {
    pod,
    whole: wholeResources(pod),
    containers: [
      ...containersOf(undefined, spec?.initContainers),
      ...containersOf("main", spec?.containers),
      ...containersOf("ephemeral", spec?.ephemeralContainers),
    ],
  };
}

/** Time that the pod's containers get to end by themselves, in milliseconds. Default: 30,000. */
export function terminationGraceMs(pod: DeepReadonly<Pod>): number {
  return (pod.spec?.terminationGracePeriodSeconds ?? 30) * 1000;
}

/**
 * Hash of the fields whose change restarts a container. In a running pod only the image and the resources can change, and resources are
 * changed in place.
 */
export function specHash(container: DeepReadonly<Container>): string {
  return createHash("sha256")
    .update(`${container.name}\0${container.image ?? ""}`)
    .digest("hex")
    .slice(0, 16);
}
