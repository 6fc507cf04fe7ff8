import type { DeepReadonly, Pod } from "@virtual-kubelet/core";
import { begunAnew, newContainer, type ContainerRecord } from "./container-life.ts";
import type { Instant } from "./instant.ts";
import { desiredPodOf } from "./desired-pod.ts";
import type { PodState } from "./pod-state.ts";

/** The state of a pod whose spec, labels or annotations have changed. */
export function withPod(state: PodState, pod: DeepReadonly<Pod>): PodState {
  const desired = desiredPodOf(pod);
  const before = new Map(state.desired.containers.map(({ name, specHash }) => [name, specHash]));
  const containers = desired.containers.map(({ name, specHash }): [string, ContainerRecord] => {
    const held = state.containers.get(name) ?? newContainer;
    // A change of resources that has failed may go well now.
    const record = held.resize?.retryAtMs === undefined ? held : { ...held, resize: undefined };
    if (before.get(name) === specHash) return [name, record];
    const isBegun = record.life.kind === "waiting" || record.life.kind === "pulling";
    return [name, { ...(isBegun ? begunAnew(record) : record), crashBackoff: undefined, pullBackoff: undefined }];
  });
  return { ...state, desired, containers: new Map(containers) };
}

/**
 * The state of a pod of which a secret or config map has come or changed: what waits for one is tried at once. What is on its
 * way may have looked too early.
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

/** The state of a pod after another one has left ports of the node: a sandbox that could not be made is tried at once. */
export function withFreedPorts(state: PodState, { monotonicMs }: Instant): PodState {
  const { stage } = state;
  return stage.kind === "sandboxFailed" && !stage.isForMounts ? { ...state, stage: { ...stage, untilMs: monotonicMs } } : state;
}
