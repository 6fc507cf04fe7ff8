import type { DeepReadonly, Pod } from "@virtual-kubelet/core";
import { UnsupportedError } from "@virtual-kubelet/errdefs";
import type { EngineFacts } from "./engine-facts.ts";

export type LimitFacts = Pick<EngineFacts, "cgroupDriver" | "controls" | "hasSeccomp" | "isPodman" | "isRootless">;

/**
 * Fields of a pod's spec that the engine ignores, each as part of a sentence. Empty for a Docker engine that runs as root with all
 * controllers. Engines only warn about these fields, so pods with them run.
 */
export function engineLimits({ cgroupDriver, controls, hasSeccomp, isPodman, isRootless }: LimitFacts): readonly string[] {
  const hasGroups = cgroupDriver === "cgroupfs" || cgroupDriver === "systemd";
  const limits: readonly (readonly [isMissing: boolean, what: string])[] = [
    [!controls.memory, "resources.limits.memory is not kept"],
    [controls.memory && !controls.swap, "resources.limits.memory does not bound swap"],
    [!controls.cpuQuota, "resources.limits.cpu is not kept"],
    [!controls.cpuShares, "resources.requests.cpu has no weight"],
    [!controls.pids, "pidsLimit is not kept"],
    [!hasSeccomp, "securityContext.seccompProfile is not kept"],
    [isPodman || !hasGroups, "pods have no cgroup of their own"],
    [isPodman, "resources of a running container cannot be changed"],
    [isRootless, "spec.hostPID is refused"],
    [isRootless, "hostNetwork, hostPorts and privileges are those of the engine's user, not the machine's"],
  ];
  return limits.filter(([isMissing]) => isMissing).map(([, what]) => what);
}

/**
 * Refuses a pod with a field that the engine can neither apply nor ignore.
 *
 * @param facts - `undefined` before the engine was asked
 * @throws UnsupportedError naming the field
 */
export function checkEngineLimits({ spec }: DeepReadonly<Pod>, facts: Pick<EngineFacts, "isRootless"> | undefined): void {
  if (!facts?.isRootless || !spec?.hostPID) return;
  const fieldPath = "spec.hostPID";
  throw new UnsupportedError(
    `${fieldPath}: a rootless engine cannot mount /proc of the machine's processes; use an engine that runs as root`,
    {
      fieldPath,
    },
  );
}
