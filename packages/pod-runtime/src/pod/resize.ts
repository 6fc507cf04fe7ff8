import type { ContainerRecord } from "./container-life.ts";
import { retryMs, warning } from "./container-step.ts";
import type { Instant } from "./instant.ts";
import type { PodEffect, Step } from "./pod-effect.ts";
import type { PodEvent } from "./pod-event.ts";
import type { DesiredContainer } from "./desired-pod.ts";
import { changedResources, needsRestart } from "./resources.ts";
import type { PodRuntimeReason } from "../reasons.ts";

/** What to do about a running container's resources. */
export type ResizeWish = "nothing" | "resize" | "restart";

/** Compares the resources in force with the spec. `nothing` while a change is in progress or waits for its next try. */
export function resizeWish({ life, effective, resize }: ContainerRecord, desired: DesiredContainer, now: Instant): ResizeWish {
  if (life.kind !== "running") return "nothing";
  const { container } = desired;
  const changed = changedResources(effective, desired.effective);
  if (changed.length === 0) return "nothing";
  if (needsRestart(container, changed) || resize?.isRestartNeeded) return "restart";
  return resize === undefined || (resize.retryAtMs !== undefined && resize.retryAtMs <= now.monotonicMs) ? "resize" : "nothing";
}

/** Starts to change a running container's resources in place. */
export function beginResize(record: ContainerRecord, desired: DesiredContainer): Step<ContainerRecord> {
  const { life } = record;
  if (life.kind !== "running") return { state: record, effects: [] };
  const target = { own: desired.container.resources ?? {}, effective: desired.effective };
  const effects: PodEffect[] = [{ kind: "resizeContainer", container: desired.name, id: life.instance.id }];
  if (!record.resize) effects.push(told(desired, "ResizeStarted", `Resize of container ${desired.name} started`));
  return { state: { ...record, resize: { target } }, effects };
}

/** Records the outcome of a resize. */
export function resizeEnded(
  record: ContainerRecord,
  event: Extract<PodEvent, { readonly kind: "resized" | "resizeFailed" }>,
  { desired, now }: { readonly desired: DesiredContainer; readonly now: Instant },
): Step<ContainerRecord> {
  const { resize } = record;
  if (!resize) return { state: record, effects: [] };
  if (event.kind === "resized") {
    const effects = [told(desired, "ResizeCompleted", `Resize of container ${desired.name} completed`)];
    const { own: resources, effective } = resize.target;
    return { state: { ...record, resources, effective, resize: undefined }, effects };
  }
  const { message, isRestartNeeded } = event;
  return {
    state: { ...record, resize: { ...resize, message, isRestartNeeded, retryAtMs: now.monotonicMs + retryMs } },
    effects: [warning("ResizeError", `Resize of container ${desired.name} failed: ${message}`, desired)],
  };
}

function told({ name }: DesiredContainer, reason: PodRuntimeReason, message: string): PodEffect {
  return { kind: "event", type: "Normal", reason, message, container: name };
}
