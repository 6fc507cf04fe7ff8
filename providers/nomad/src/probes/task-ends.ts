import type { Clock } from "@virtual-kubelet/clock";
import type { PodRef } from "@virtual-kubelet/core";
import { isInvalidInput } from "@virtual-kubelet/errdefs";
import type { FailedContainer } from "@virtual-kubelet/pod-runtime/probes";
import type { BackgroundWork } from "@virtual-kubelet/remote-pods";
import type { NomadClient } from "../api/nomad-client.ts";
import type { PodEntry } from "../pods/pod-entry.ts";
import { taskStateOf } from "../status/task-state.ts";
import { instanceId } from "./running-containers.ts";

export interface TaskEndsOptions {
  readonly clientOf: (ref: PodRef) => Pick<NomadClient, "readAllocation" | "restartTask" | "signalTask">;
  readonly clock: Clock;
  readonly background: BackgroundWork;
}

/** Interval between checks of a task that has to end. */
const lookMs = 1000;

/** Ends the tasks of containers whose probes have failed, once for each instance. Retries while Nomad fails. */
export class TaskEnds {
  readonly #options: TaskEndsOptions;

  constructor(options: TaskEndsOptions) {
    this.#options = options;
  }

  /** Restarts the container, or ends it for good if its policy is never to restart. */
  end(entry: PodEntry, failed: FailedContainer): void {
    const allocation = entry.allocation?.ID;
    if (allocation === undefined) return;
    const work = failed.isRestarted ? this.#restart : this.#kill;
    this.#options.background.run(`end ${failed.id}`, (signal) => work.call(this, { entry, allocation, failed }, signal));
  }

  async #restart(ended: EndedTask, signal: AbortSignal): Promise<void> {
    const { clientOf, clock } = this.#options;
    const { entry, allocation, failed } = ended;
    const client = clientOf(entry.shape.ref);
    if (!(await this.#runs(ended, signal))) return;
    const killTimeoutMs = entry.shape.graceSeconds * 1000;
    const graceMs = failed.graceSeconds * 1000;
    // Nomad uses the kill time-out that the task was started with. A shorter grace is enforced here.
    using _timer =
      graceMs < killTimeoutMs
        ? clock.setTimer(graceMs, () => void client.signalTask(allocation, failed.name, "SIGKILL", signal).catch(() => {}))
        : undefined;
    await client.restartTask(allocation, failed.name, killTimeoutMs, signal);
  }

  /** Ends the task by signals, because a restart would start it again. */
  async #kill(ended: EndedTask, signal: AbortSignal): Promise<void> {
    const { clientOf, clock } = this.#options;
    const { entry, allocation, failed } = ended;
    const client = clientOf(entry.shape.ref);
    if (!(await this.#runs(ended, signal))) return;
    const deadlineMs = clock.monotonic() + failed.graceSeconds * 1000;
    await client.signalTask(allocation, failed.name, "SIGTERM", signal);
    while (await this.#runs(ended, signal)) {
      const leftMs = deadlineMs - clock.monotonic();
      // The task may have ended just before the signal.
      if (leftMs <= 0) await client.signalTask(allocation, failed.name, "SIGKILL", signal).catch(() => {});
      await clock.sleep(leftMs > 0 ? Math.min(leftMs, lookMs) : lookMs, signal);
    }
  }

  /** Whether the instance still runs. Asks Nomad, because the answer to a restart may have been lost. */
  async #runs({ entry, allocation, failed }: EndedTask, signal: AbortSignal): Promise<boolean> {
    if (entry.ending) return false;
    try {
      const current = await this.#options.clientOf(entry.shape.ref).readAllocation(allocation, signal);
      const task = taskStateOf(current, failed.name);
      return task?.State === "running" && task.StartedAt ? instanceId(allocation, failed.name, task.StartedAt) === failed.id : false;
    } catch (error) {
      // An unreadable allocation was logged already; another attempt would not help.
      if (isInvalidInput(error)) return false;
      throw error;
    }
  }
}

interface EndedTask {
  readonly entry: PodEntry;
  readonly allocation: string;
  readonly failed: FailedContainer;
}
