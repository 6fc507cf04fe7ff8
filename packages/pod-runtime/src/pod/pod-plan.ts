import type { Container, DeepReadonly, Pod } from "@virtual-kubelet/core";
import { isSidecar } from "@virtual-kubelet/kubernetes";
import { withPodLimits, type Resources } from "./resources.ts";
import { specHash } from "./spec-hash.ts";
import { wholeResources } from "./whole-resources.ts";

/** Which list of the spec a container is from, and how it lives: a sidecar is an init container that goes on running. */
export type ContainerRole = "init" | "sidecar" | "main" | "ephemeral";

/** One container of a pod, with all that its life follows from. */
export interface PlannedContainer {
  readonly name: string;
  readonly role: ContainerRole;
  readonly container: DeepReadonly<Container>;
  /** Changes when the container has to be started anew. */
  readonly specHash: string;
  /** What it runs with: its own, and the pod's limits where it has none. */
  readonly effective: Resources;
}

/** A pod's containers, in the order they start. Ephemeral ones come last, and wait for nobody. */
export interface PodPlan {
  readonly pod: DeepReadonly<Pod>;
  /** What it needs and may use as a whole. */
  readonly whole: Resources;
  readonly containers: readonly PlannedContainer[];
}

/** Reads a pod's containers. A pod without a spec has none. */
export function planPod(pod: DeepReadonly<Pod>): PodPlan {
  const { spec } = pod;
  const plan = (role: ContainerRole | undefined, containers: readonly DeepReadonly<Container>[] | undefined): PlannedContainer[] =>
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
      ...plan(undefined, spec?.initContainers),
      ...plan("main", spec?.containers),
      ...plan("ephemeral", spec?.ephemeralContainers),
    ],
  };
}

/** Milliseconds the pod's containers have to end by themselves; 30 s by default. */
export function terminationGraceMs(pod: DeepReadonly<Pod>): number {
  return (pod.spec?.terminationGracePeriodSeconds ?? 30) * 1000;
}
