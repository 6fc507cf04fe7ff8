import { isLive, type ContainerRecord } from "./container-life.ts";
import { retryMs, warning } from "./container-step.ts";
import type { Instant } from "./instant.ts";
import type { PodEffect, Step } from "./pod-effect.ts";
import type { PodEvent } from "./pod-event.ts";
import type { DesiredContainer, DesiredPod } from "./desired-pod.ts";
import { changedResources, type Resources } from "./resources.ts";

/**
 * The resources of a pod as a whole: those its cgroup has, if it has one. A change of any container's is one of theirs.
 *
 * The cgroup grows before the containers do, and shrinks after them: no container ever has more than its pod.
 */
export interface WholePod {
  /** What is in force. */
  readonly resources: Resources;
  /** Whether that is more than a guess: nobody keeps what an earlier program was about to change. */
  readonly isSure: boolean;
  readonly change?: WholeChange | undefined;
}

/** A change of a pod's resources that is under way. */
export interface WholeChange {
  readonly target: Resources;
  /** `growing`, `shrinking`: the cgroup's turn; `containers`: theirs. */
  readonly step: "growing" | "containers" | "shrinking";
  /** When a step has failed: when it is tried again; monotonic. */
  readonly retryAtMs?: number | undefined;
  readonly message?: string | undefined;
}

/** What a pod has whose cgroup is made of its spec now. */
export function settledWhole({ whole }: DesiredPod): WholePod {
  return { resources: whole, isSure: true };
}

/** The next step of a change, if there is one to begin. */
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

/** What {@link wholeStep} looks at. */
export interface WholeContext {
  /** What the spec says. */
  readonly target: Resources;
  readonly sandboxId: string;
  /** Whether everything that runs has what its spec says. */
  areContainersDone(): boolean;
  readonly now: Instant;
}

/** Notes how a step went. */
export function wholeStepEnded(
  whole: WholePod,
  event: Extract<PodEvent, { readonly kind: "podGrown" | "podFitted" | "podFitFailed" }>,
  now: Instant,
): Step<WholePod> {
  const { change } = whole;
  // Only a step that is under way is answered.
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

/** Whether a container that runs has what its spec says; what does not run will have it. */
export function hasItsResources({ life, effective }: ContainerRecord, { effective: wanted }: DesiredContainer): boolean {
  return !isLive(life) || changedResources(effective, wanted).length === 0;
}

/** Whether people are to know of a change: not of one that makes sure of what an earlier program may have left. */
export function isShown({ resources, change }: WholePod): boolean {
  return change !== undefined && (change.message !== undefined || !isSame(change.target, resources));
}

function isSame(one: Resources, other: Resources): boolean {
  return one === other || changedResources(one, other).length === 0;
}
