import type { Clock } from "@virtual-kubelet/clock";
import type { Owner, PodEvent, PodRef } from "@virtual-kubelet/core";
import { ownValue } from "@virtual-kubelet/kubernetes";
import type { BackgroundWork } from "@virtual-kubelet/remote-pods";
import type { NomadClient } from "../api/nomad-client.ts";
import type { Allocation } from "../api/types.ts";
import { variablePaths } from "../job/job-id.ts";
import { attemptMeta, readJobMeta, type NamespaceOf, type PodAttempt } from "../job/job-meta.ts";
import { gatedContainers } from "../job/pod-shape.ts";
import { restartsOnceMore, startFailureOf } from "../status/container-status.ts";
import { isToStartAgain } from "../status/pod-status.ts";
import { taskStateOf } from "../status/task-state.ts";
import type { PodEntry } from "./pod-entry.ts";
import type { PodRegistry } from "./pod-registry.ts";

export interface StartRetriesOptions {
  readonly clientOf: (ref: PodRef) => NomadClient;
  readonly clock: Clock;
  readonly owner: Owner;
  readonly namespaceOf: NamespaceOf;
  readonly registry: PodRegistry;
  readonly background: BackgroundWork;
  /** Delay after the first start that failed. */
  readonly firstDelayMs: number;
  readonly recordEvent: (pod: PodRef, event: PodEvent) => void;
  /** Called when the pod's job was registered again. */
  readonly onStarted: (entry: PodEntry) => void;
}

/** Longest back-off, as of a kubelet. */
const maxDelayMs = 300_000;
/** A start that lasted this long counts as a success, and the back-off begins anew. Source: kubelet, twice the longest back-off. */
const successMs = 600_000;

/** Registers the jobs of pods whose start has failed again, after a back-off that doubles each time. */
export class StartRetries {
  readonly #options: StartRetriesOptions;

  constructor(options: StartRetriesOptions) {
    this.#options = options;
  }

  /** Back-off of a pod whose start has failed; `undefined` for all others. */
  delayOf(entry: PodEntry): number | undefined {
    const { shape, allocation, ending, stopped, hasReplacement, nextStart } = entry;
    if (stopped || hasReplacement || !isToStartAgain({ shape, allocation, ending: ending !== undefined })) return undefined;
    const { firstDelayMs } = this.#options;
    return nextStart?.delayMs ?? Math.min(Math.max(firstDelayMs, maxDelayMs), firstDelayMs * 2 ** failuresBefore(entry));
  }

  /** Schedules another start of the pod after its back-off. Repeated calls change nothing. */
  schedule(entry: PodEntry): void {
    const { clock, background, recordEvent } = this.#options;
    const delayMs = this.delayOf(entry);
    // Nomad is still ending the containers beside the one that failed.
    if (
      delayMs === undefined ||
      entry.nextStart ||
      Object.values(entry.allocation?.TaskStates ?? {}).some(({ State }) => State === "running")
    )
      return;
    const timer = clock.setTimer(delayMs, () => background.run(`start ${entry.jobId} again`, (signal) => this.#start(entry, signal)));
    entry.nextStart = { delayMs, timer };
    const { name } = entry.shape.containers.find((each) => startFailureOf(taskStateOf(entry.allocation, each.name)) !== undefined) ?? {};
    const why =
      name === undefined ? (entry.allocation?.ClientDescription ?? "") : (startFailureOf(taskStateOf(entry.allocation, name)) ?? "");
    const message = `Back-off ${delayMs / 1000}s before the pod is started again: ${why}`;
    recordEvent(entry.shape.ref, { type: "Warning", reason: "BackOff", message, container: name });
  }

  cancel(entry: PodEntry): void {
    entry.nextStart?.timer[Symbol.dispose]();
    entry.nextStart = undefined;
  }

  async #start(entry: PodEntry, signal: AbortSignal): Promise<void> {
    const { clientOf, owner, namespaceOf, registry, onStarted } = this.#options;
    const { allocation: failed, jobId, shape } = entry;
    const client = clientOf(shape.ref);
    if (!failed || registry.get(shape.ref.uid) !== entry || this.delayOf(entry) === undefined) return this.cancel(entry);
    const { spec, stub } = await client.readJobSpec(jobId, signal);
    const meaning = readJobMeta(stub, owner, namespaceOf);
    if (stub.Stop || meaning.kind !== "pod") {
      entry.stopped ||= stub.Stop ?? false;
      this.cancel(entry);
      return onStarted(entry);
    }
    // The job is registered already if the reply was lost.
    if (meaning.attempt.after < failed.CreateIndex) {
      // An open gate would let an init container start before its turn.
      for (const { name } of gatedContainers(shape)) await client.deleteVariable(variablePaths.gate(jobId, name), signal);
      entry.opened.clear();
      // The pod may have been deleted meanwhile.
      if (this.delayOf(entry) === undefined) return this.cancel(entry);
      // Before the reply, because an event of the new allocation may come first.
      if (entry.attempt.after < failed.CreateIndex) entry.attempt = attemptAfter(entry, failed);
      await client.registerJob({ ...spec, Meta: { ...stub.Meta, ...attemptMeta(entry.attempt) } }, stub.JobModifyIndex, signal);
    } else entry.attempt = meaning.attempt;
    this.cancel(entry);
    if (entry.allocation?.ID === failed.ID) entry.allocation = undefined;
    onStarted(entry);
  }
}

/** How many starts in a row have failed before the one that has failed now. */
function failuresBefore({ allocation, attempt }: PodEntry): number {
  const events = Object.values(allocation?.TaskStates ?? {}).flatMap(({ Events }) => Events ?? []);
  const endedAt = Math.max(...events.map(({ Time }) => Time));
  return (endedAt - (allocation?.CreateTime ?? 0)) / 1e6 >= successMs ? 0 : attempt.failures;
}

function attemptAfter(entry: PodEntry, failed: Allocation): PodAttempt {
  const { shape, attempt } = entry;
  const restarts = shape.containers.map(({ name }) => [
    name,
    restartsOnceMore(taskStateOf(failed, name), ownValue(attempt.restarts, name) ?? 0),
  ]);
  return {
    failures: failuresBefore(entry) + 1,
    after: failed.CreateIndex,
    restarts: Object.fromEntries(restarts) as Record<string, number>,
  };
}
