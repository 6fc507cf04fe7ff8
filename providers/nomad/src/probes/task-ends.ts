import type { Clock } from "@virtual-kubelet/clock";
import type { PodRef } from "@virtual-kubelet/core";
import { isInvalidInput } from "@virtual-kubelet/errdefs";
import type { FailedContainer } from "@virtual-kubelet/pod-runtime/probes";
import type { NomadClient } from "../api/nomad-client.ts";
import type { Background } from "../pods/background.ts";
import type { PodEntry } from "../pods/pod-entry.ts";
import { taskStateOf } from "../status/task-state.ts";
import { instanceId } from "./running-containers.ts";

export interface TaskEndsOptions {
  readonly clientOf: (ref: PodRef) => Pick<NomadClient, "readAllocation" | "restartTask" | "signalTask">;
  readonly clock: Clock;
  readonly background: Background;
}

/** How often a task that is to end is looked at. */
const lookMs = 1000;

/** Ends the tasks of containers whose probes have failed, each instance once, also over failures of Nomad's. */
export class TaskEnds {
  readonly #options: TaskEndsOptions;

  constructor(options: TaskEndsOptions) {
    this.#options = options;
  }

  /** Has the container restarted, or ended for good where its policy is never to restart. */
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
    // Nomad kills it after the time-out that it was started with. Less is enforced here.
    using _timer =
      graceMs < killTimeoutMs
        ? clock.setTimer(graceMs, () => void client.signalTask(allocation, failed.name, "SIGKILL", signal).catch(() => {}))
        : undefined;
    await client.restartTask(allocation, failed.name, killTimeoutMs, signal);
  }

  /** A restart would start it again. */
  async #kill(ended: EndedTask, signal: AbortSignal): Promise<void> {
    const { clientOf, clock } = this.#options;
    const { entry, allocation, failed } = ended;
    const client = clientOf(entry.shape.ref);
    if (!(await this.#runs(ended, signal))) return;
    const deadlineMs = clock.monotonic() + failed.graceSeconds * 1000;
    await client.signalTask(allocation, failed.name, "SIGTERM", signal);
    while (await this.#runs(ended, signal)) {
      const leftMs = deadlineMs - clock.monotonic();
      // It may end just before it is told to.
      if (leftMs <= 0) await client.signalTask(allocation, failed.name, "SIGKILL", signal).catch(() => {});
      await clock.sleep(leftMs > 0 ? Math.min(leftMs, lookMs) : lookMs, signal);
    }
  }

  /** Whether the instance still runs. Asked of Nomad, because an answer that was lost may have been to a restart. */
  async #runs({ entry, allocation, failed }: EndedTask, signal: AbortSignal): Promise<boolean> {
    if (entry.ending) return false;
    try {
      const current = await this.#options.clientOf(entry.shape.ref).readAllocation(allocation, signal);
      const task = taskStateOf(current, failed.name);
      return task?.State === "running" && task.StartedAt ? instanceId(allocation, failed.name, task.StartedAt) === failed.id : false;
    } catch (error) {
      // What cannot be read was named, and would be no better the next time.
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
