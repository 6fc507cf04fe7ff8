import type { DeepReadonly, Pod } from "@virtual-kubelet/core";
import { UnsupportedError } from "@virtual-kubelet/errdefs";
import type { PodSettings } from "./pod-settings.ts";

/** Kind of Zun object that represents a pod. */
export type ObjectKind = "container" | "capsule";

/**
 * Chooses the kind of Zun object for a pod.
 *
 * @throws UnsupportedError with the field that the wanted kind does not support
 */
export function chooseKind(pod: DeepReadonly<Pod>, { mode }: PodSettings): ObjectKind {
  const { containers = [], initContainers = [] } = pod.spec ?? {};
  if (mode === "capsule") return "capsule";
  if (containers.length <= 1 && initContainers.length === 0) return "container";
  if (mode === "auto") return "capsule";
  const fieldPath = initContainers.length > 0 ? "spec.initContainers" : "spec.containers[1]";
  throw new UnsupportedError("mode container supports only pods with one container and no init containers; use mode auto or capsule", {
    fieldPath,
  });
}

/**
 * Refuses fields that capsules do not support, before anything is created.
 * Source: zun 18.0.0 zun/api/controllers/v1/schemas/parameter_types.py (`capsule_template`).
 *
 * @throws UnsupportedError with the field
 */
export function checkCapsule(settings: PodSettings): void {
  const refuse = (message: string, fieldPath: string): never => {
    throw new UnsupportedError(`a pod with several containers is a Zun capsule, and ${message}`, { fieldPath });
  };
  const annotation = (name: string): string => `metadata.annotations['zun.virtual-kubelet.io/${name}']`;
  if (settings.networks.length > 0 || settings.subnets.length > 0)
    refuse(
      "that is joined to the project's oldest network, whatever is asked for; give it a project with just that network",
      annotation("networks"),
    );
  if (settings.fixedIp !== undefined) refuse("that takes no fixed address", annotation("fixed-ip"));
  if (settings.registry !== undefined) refuse("that pulls its images without a registry's credentials", annotation("registry"));
}
