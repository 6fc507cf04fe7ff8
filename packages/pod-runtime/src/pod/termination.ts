import type { Termination } from "./container-life.ts";
import type { RuntimeExit } from "../runtime/container-runtime.ts";

/**
 * A runtime's exit as a status shows it.
 *
 * @param written - the container's own termination message; see `terminationMessagePath`
 */
export function toTermination(exit: RuntimeExit, id: string, written = ""): Termination {
  const { exitCode, startedAtMs, finishedAtMs, isOutOfMemory } = exit;
  const message = [exit.message, written].filter(Boolean).join(": ") || undefined;
  const reason = isOutOfMemory ? "OOMKilled" : startedAtMs === undefined ? "StartError" : exitCode === 0 ? "Completed" : "Error";
  return { exitCode, reason, message, startedAtMs, finishedAtMs, id };
}

/** End of a container that the runtime does not know any more. */
export function lostTermination(instance: { readonly id: string; readonly startedAtMs: number }, nowMs: number): Termination {
  return {
    exitCode: 137,
    reason: "ContainerStatusUnknown",
    message: "The container could not be located when the pod was looked at",
    startedAtMs: instance.startedAtMs,
    finishedAtMs: nowMs,
    id: instance.id,
  };
}
