import type { PodPlan } from "./pod-plan.ts";

/** What a pod asks for and Zun cannot keep: a warning for people. */
export interface KeptLimit {
  readonly reason: string;
  readonly message: string;
}

/** All that a pod asks for and Zun cannot keep, and that is no reason to refuse it. */
export function keptLimits({ kind, pod, labels }: PodPlan): readonly KeptLimit[] {
  if (kind !== "capsule") return [];
  const limits: KeptLimit[] = [];
  if (labels.restartPolicy !== "Always")
    limits.push({
      reason: "EndNotSeen",
      message: "Zun does not tell when a container of a pod of several containers ends: this pod is said to run until it is deleted",
    });
  if (pod.spec?.containers.some(({ command = [] }) => command.length > 0))
    limits.push({
      reason: "EntryPointStays",
      message: "Zun runs the command of a pod of several containers as arguments of the image's entry point, if it has one",
    });
  return limits;
}
