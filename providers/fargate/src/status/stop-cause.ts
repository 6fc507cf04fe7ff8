import type { EcsTask } from "../aws/ecs-objects.ts";

/** Beginning of the reasons with which this provider stops tasks. */
const ownReasonPrefix = "virtual-kubelet: ";

/** Why the provider stops a task by itself. */
export type OwnStop = "deleted" | "deadline" | "ended" | "restart" | "unhealthy" | "startup" | "init";

const ownReasons: Readonly<Record<OwnStop, string>> = {
  deleted: "the pod was deleted",
  deadline: "the pod was active longer than its deadline",
  ended: "all containers have ended",
  restart: "a container has to run again",
  unhealthy: "a liveness probe failed",
  startup: "a startup probe failed",
  init: "an init container failed",
};

/** Why a task has stopped. */
export type StopCause =
  /** Its containers ended by themselves. */
  | { readonly kind: "exit" }
  | { readonly kind: "own"; readonly stop: OwnStop }
  /** An image could not be pulled. */
  | { readonly kind: "pull"; readonly message: string }
  /** Fargate had no capacity. */
  | { readonly kind: "capacity"; readonly message: string }
  /** The task could not be started for another reason. */
  | { readonly kind: "start"; readonly message: string }
  | { readonly kind: "spot"; readonly message: string }
  /** AWS retired or lost the machine. */
  | { readonly kind: "machine"; readonly message: string }
  /** Somebody else stopped it. */
  | { readonly kind: "outside"; readonly message: string };

/** Text of StopTask's reason. */
export function ownStopReason(stop: OwnStop): string {
  return `${ownReasonPrefix}${ownReasons[stop]}`;
}

/** Whether a text says that an image could not be pulled. Source: Amazon ECS Developer Guide, "CannotPullContainer task errors". */
export function isPullError(text: string | undefined): boolean {
  return text !== undefined && /CannotPull\w*Error|pull image manifest has been retried|image manifest/i.test(text);
}

/** Reads the cause of a task's stop. Source: ECS API reference, Task.stopCode; Developer Guide, "Stopped task error messages". */
export function stopCauseOf({ stopCode, stoppedReason = "", containers }: EcsTask): StopCause {
  const stop = ownStopOf(stoppedReason);
  if (stop !== undefined) return { kind: "own", stop };
  const message = stoppedReason === "" ? `ECS stopped the task: ${stopCode ?? "no reason is given"}` : stoppedReason;
  const pull = [stoppedReason, ...containers.map(({ reason }) => reason)].find(isPullError);
  if (pull !== undefined && stopCode !== "EssentialContainerExited") return { kind: "pull", message: pull };
  switch (stopCode) {
    case "TaskFailedToStart":
      return { kind: /capacity is unavailable|reached the limit/i.test(stoppedReason) ? "capacity" : "start", message };
    case "SpotInterruption":
      return { kind: "spot", message };
    case "TerminationNotice":
    case "InfrastructureHealth":
      return { kind: "machine", message };
    case "UserInitiated":
    case "ServiceSchedulerInitiated":
      return { kind: "outside", message };
    default:
      return { kind: "exit" };
  }
}

function ownStopOf(reason: string): OwnStop | undefined {
  if (!reason.startsWith(ownReasonPrefix)) return undefined;
  return (Object.keys(ownReasons) as OwnStop[]).find((stop) => reason === ownStopReason(stop)) ?? "deleted";
}
