import { isLive, type ContainerRecord } from "./container-life.ts";
import { retryMs, warning } from "./container-step.ts";
import type { Instant } from "./instant.ts";
import type { PodEffect, Step } from "./pod-effect.ts";
import type { PodEvent } from "./pod-event.ts";
import type { DesiredContainer, DesiredPod } from "./desired-pod.ts";
import { changedResources, type Resources } from "./resources.ts";

/**
 * Resources of the pod as a whole, which its cgroup has if there is one. They change with any container's resources.
 *
 * The cgroup grows before the containers and shrinks after them, so no container ever has more than its pod.
 */
export interface WholePod {
  /** The resources in force. */
  readonly resources: Resources;
  /** False after a restart of the program, because a change that an earlier program had started is not recorded. */
  readonly isSure: boolean;
  readonly change?: WholeChange | undefined;
}

/** A change of the pod's resources that is in progress. */
export interface WholeChange {
  readonly target: Resources;
  /** `growing`, `shrinking`: the cgroup changes. `containers`: the containers change. */
  readonly step: "growing" | "containers" | "shrinking";
  /** Time of the next try after a failure; monotonic. */
  readonly retryAtMs?: number | undefined;
  readonly message?: string | undefined;
}

/** Resources of a pod whose cgroup has just been created from its spec. */
export function settledWhole({ whole }: DesiredPod): WholePod {
  return { resources: whole, isSure: true };
}

/** The next step of a change, if one is due. */
export function wholeStep(
  whole: WholePod,
  { target, sandboxId, areContainersDone, now }: WholeContext,
): { readonly whole: WholePod; readonly effect?: PodEffect } {
  const { change } = whole;
  const grow = { whole: { ...whole, change: { target, step: "growing" } }, effect: { kind: "growPod", sandboxId } } as const;
  const shrink = (): ReturnType<typeof wholeStep> => ({
    whole: { ...whole, change: { target, step: "shrinking" } },
    effect: { kind: "fitPod", sandboxId },
  });
  if (!change) return whole.isSure && isSame(target, whole.resources) ? { whole } : grow;
  const isNew = !isSame(target, change.target);
  if (change.step === "containers") return isNew ? grow : areContainersDone() ? shrink() : { whole };
  if (change.retryAtMs === undefined || (change.retryAtMs > now.monotonicMs && !isNew)) return { whole };
  return change.step === "growing" || isNew ? grow : shrink();
}

export interface WholeContext {
  /** Resources that the spec asks for. */
  readonly target: Resources;
  readonly sandboxId: string;
  /** Whether every running container has the resources of its spec. */
  areContainersDone(): boolean;
  readonly now: Instant;
}

/** Records the outcome of a step. */
export function wholeStepEnded(
  whole: WholePod,
  event: Extract<PodEvent, { readonly kind: "podGrown" | "podFitted" | "podFitFailed" }>,
  now: Instant,
): Step<WholePod> {
  const { change } = whole;
  // Ignores an answer to a step that is not in progress.
  if (!change || change.step === "containers" || change.retryAtMs !== undefined) return { state: whole, effects: [] };
  if (event.kind === "podGrown" && change.step === "growing")
    return { state: { ...whole, change: { target: change.target, step: "containers" } }, effects: [] };
  if (event.kind === "podFitted" && change.step === "shrinking") return { state: { resources: change.target, isSure: true }, effects: [] };
  if (event.kind !== "podFitFailed") return { state: whole, effects: [] };
  const { message } = event;
  return {
    state: { ...whole, change: { ...change, message, retryAtMs: now.monotonicMs + retryMs } },
    effects: change.message === message ? [] : [warning("ResizeError", `Resize of the pod's resources failed: ${message}`)],
  };
}

/** Whether a container has the resources of its spec. A container that does not run gets them at its start. */
export function hasItsResources({ life, effective }: ContainerRecord, { effective: wanted }: DesiredContainer): boolean {
  return !isLive(life) || changedResources(effective, wanted).length === 0;
}

/** Whether the status shows the change. A change that only verifies what an earlier program may have left is hidden. */
export function isShown({ resources, change }: WholePod): boolean {
  return change !== undefined && (change.message !== undefined || !isSame(change.target, resources));
}

function isSame(one: Resources, other: Resources): boolean {
  return one === other || changedResources(one, other).length === 0;
}
