import type { Clock } from "@virtual-kubelet/clock";
import { podRef, type Logger, type PodRef, type ProviderHost } from "@virtual-kubelet/core";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { EcsApi } from "../aws/ecs-api.ts";
import type { EcsTask } from "../aws/ecs-objects.ts";
import { ownStopReason } from "../status/stop-cause.ts";
import { stopDecisionOf, type StopDecision } from "../status/stop-decision.ts";

/** Milliseconds for which a container has to stay stopped before its task is, because ECS restarts containers by itself. */
const lastingMs = 10_000;

export interface TaskUpkeepOptions {
  readonly api: Pick<EcsApi, "stopTask">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly host: Pick<ProviderHost, "findPod" | "recordEvent">;
}

/**
 * Stops running tasks that ECS itself would not stop: at the pod's deadline, after a failed init container, liveness or startup probe, and when the containers of
 * a task with several containers have ended, or one of them has to run again.
 */
export class TaskUpkeep implements AsyncDisposable {
  readonly #options: TaskUpkeepOptions;
  /** Monotonic time at which a condition that must last was first seen, by task. */
  readonly #seenMs = new Map<string, number>();
  /** Containers whose health check has passed, by task. */
  readonly #started = new Map<string, Set<string>>();
  readonly #stopped = new Set<string>();
  readonly #interrupted = new Set<string>();
  readonly #work = new Set<Promise<void>>();
  readonly #disposal = new AbortController();

  constructor(options: TaskUpkeepOptions) {
    this.#options = options;
  }

  /** Looks at a described task of a pod. Returns at once; a failed stop is repeated at the next look. */
  look(task: EcsTask, ref: PodRef): void {
    const { host, clock } = this.#options;
    this.#tellInterruption(task, ref);
    if (task.lastStatus === "STOPPED") return this.#forget(task.taskArn);
    const pod = host.findPod(ref);
    if (!pod || podRef(pod).uid !== ref.uid || this.#stopped.has(task.taskArn)) return;
    const started = this.#noteStarted(task);
    const decision = stopDecisionOf(task, pod, { nowMs: clock.now(), started });
    if (!decision) {
      this.#seenMs.delete(task.taskArn);
      return;
    }
    if (decision.mustLast && !this.#hasLasted(task.taskArn)) return;
    this.#stop(task, ref, decision);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposal.abort(new Error("the provider is disposed"));
    await Promise.allSettled(this.#work);
  }

  #noteStarted({ taskArn, containers }: EcsTask): ReadonlySet<string> {
    const started = this.#started.get(taskArn) ?? new Set();
    for (const { name, healthStatus } of containers) if (healthStatus === "HEALTHY") started.add(name);
    if (started.size > 0) this.#started.set(taskArn, started);
    return started;
  }

  #hasLasted(taskArn: string): boolean {
    const nowMs = this.#options.clock.monotonic();
    const sinceMs = this.#seenMs.get(taskArn) ?? nowMs;
    this.#seenMs.set(taskArn, sinceMs);
    return nowMs - sinceMs >= lastingMs;
  }

  #stop({ taskArn }: EcsTask, ref: PodRef, { stop, container }: StopDecision): void {
    const { api, host, logger } = this.#options;
    this.#stopped.add(taskArn);
    const reason = ownStopReason(stop);
    const work = api
      .stopTask(taskArn, reason, this.#disposal.signal)
      .then(() => {
        if (stop !== "ended")
          host.recordEvent(ref, { type: "Warning", reason: "TaskStopped", message: reason, ...(container !== undefined && { container }) });
      })
      .catch((error: unknown) => {
        this.#stopped.delete(taskArn);
        if (!this.#disposal.signal.aborted) logger.warn({ err: messageOf(error) }, "a task could not be stopped; trying again");
      })
      .finally(() => this.#work.delete(work));
    this.#work.add(work);
  }

  #tellInterruption({ taskArn, stopCode, lastStatus, stoppedReason = "" }: EcsTask, ref: PodRef): void {
    if (stopCode !== "SpotInterruption" || lastStatus === "STOPPED" || this.#interrupted.has(taskArn)) return;
    this.#interrupted.add(taskArn);
    const message = `AWS takes the Spot capacity back: ${stoppedReason}`;
    this.#options.host.recordEvent(ref, { type: "Warning", reason: "SpotInterruption", message });
  }

  #forget(taskArn: string): void {
    this.#seenMs.delete(taskArn);
    this.#started.delete(taskArn);
    this.#stopped.delete(taskArn);
    this.#interrupted.delete(taskArn);
  }
}
