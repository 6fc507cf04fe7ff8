import type { DeepReadonly, Pod } from "@virtual-kubelet/core";
import { begunAnew, newContainer, type ContainerRecord } from "./container-life.ts";
import type { Instant } from "./instant.ts";
import { desiredPodOf } from "./desired-pod.ts";
import type { PodState } from "./pod-state.ts";

/** State of a pod after its spec, labels or annotations changed. */
export function withPod(state: PodState, pod: DeepReadonly<Pod>): PodState {
  const desired = desiredPodOf(pod);
  const before = new Map(state.desired.containers.map(({ name, specHash }) => [name, specHash]));
  const containers = desired.containers.map(({ name, specHash }): [string, ContainerRecord] => {
    const held = state.containers.get(name) ?? newContainer;
    // A resize that failed may succeed now.
    const record = held.resize?.retryAtMs === undefined ? held : { ...held, resize: undefined };
    if (before.get(name) === specHash) return [name, record];
    const isBegun = record.life.kind === "waiting" || record.life.kind === "pulling";
    return [name, { ...(isBegun ? begunAnew(record) : record), crashBackoff: undefined, pullBackoff: undefined }];
  });
  return { ...state, desired, containers: new Map(containers) };
}

/**
 * State of a pod after one of its secrets or config maps appeared or changed. Waits for configuration end at once; calls in progress are
 * marked, because they may have read the old configuration.
 */
export function withNewConfig(state: PodState, { monotonicMs }: Instant): PodState {
  const { stage } = state;
  const containers = [...state.containers].map(([name, record]): [string, ContainerRecord] => {
    const { life } = record;
    if (life.kind === "starting") return [name, { ...record, life: { ...life, hasNewConfig: true } }];
    const isWaiting = life.kind === "waiting" && life.reason === "CreateContainerConfigError";
    return [name, isWaiting ? { ...record, life: { ...life, untilMs: monotonicMs } } : record];
  });
  return {
    ...state,
    containers: new Map(containers),
    stage:
      stage.kind === "creatingSandbox"
        ? { ...stage, hasNewConfig: true }
        : stage.kind === "sandboxFailed" && stage.isForMounts
          ? { ...stage, untilMs: monotonicMs }
          : stage,
  };
}

/** State of a pod after another pod released ports of the node. A sandbox that could not be created is retried at once. */
export function withFreedPorts(state: PodState, { monotonicMs }: Instant): PodState {
  const { stage } = state;
  return stage.kind === "sandboxFailed" && !stage.isForMounts ? { ...state, stage: { ...stage, untilMs: monotonicMs } } : state;
}
