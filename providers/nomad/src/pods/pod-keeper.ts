import type { Clock, Owner, PodEvent, PodRef, PodUpdate, ProviderPod, ProviderPodStatus } from "@virtual-kubelet/core";
import { isInvalidInput, isNotFound } from "@virtual-kubelet/errdefs";
import type { BackgroundWork } from "@virtual-kubelet/remote-pods";
import type { NomadClient } from "../api/nomad-client.ts";
import type { Allocation } from "../api/types.ts";
import { variablePaths } from "../job/job-id.ts";
import type { NamespaceOf } from "../job/job-meta.ts";
import { gatedContainers, type ContainerShape, type PodShape } from "../job/pod-shape.ts";
import type { ContainerHooks } from "../hooks/container-hooks.ts";
import { hasEnded, isToBeStopped, podStatusOf } from "../status/pod-status.ts";
import type { PodProbing } from "../probes/pod-probing.ts";
import { gatesToOpen } from "./gates.ts";
import type { PodEntry } from "./pod-entry.ts";
import type { PodRegistry } from "./pod-registry.ts";
import { StartRetries } from "./start-retries.ts";

export interface PodKeeperOptions {
  readonly clientOf: (ref: PodRef) => NomadClient;
  readonly clock: Clock;
  readonly registry: PodRegistry;
  readonly background: BackgroundWork;
  readonly owner: Owner;
  readonly namespaceOf: NamespaceOf;
  readonly purgeAfterMs: number;
  /** Delay before a pod whose start has failed is started again. */
  readonly startDelayMs: number;
  readonly recordEvent: (pod: PodRef, event: PodEvent) => void;
  /** Address of a client; `undefined` if it is not known yet. */
  readonly addressOf: (nodeId: string) => string | undefined;
  readonly hooks: Pick<ContainerHooks, "watch" | "applyTo" | "hasPreStop" | "preStop" | "forget">;
  readonly probing: Pick<PodProbing, "watch" | "standingsOf" | "stop">;
  /** Called when Nomad no longer holds the pod. */
  readonly onGone: (entry: PodEntry) => void;
}

/** Minimum time for containers to end after their preStop hooks. Source: kubelet, `minimumGracePeriodInSeconds`. */
const minGraceMs = 2000;
/** Interval between signals to a task that has to end. */
const killEveryMs = 1000;

/** Acts on changes of pods and reports them. Decides by the current state, not by the event that announced it. */
export class PodKeeper {
  readonly #options: PodKeeperOptions;
  readonly #retries: StartRetries;
  #listener: ((update: PodUpdate) => void) | undefined;

  constructor(options: PodKeeperOptions) {
    this.#options = options;
    this.#retries = new StartRetries({ ...options, firstDelayMs: options.startDelayMs, onStarted: (entry) => this.onChange(entry) });
  }

  listen(listener: (update: PodUpdate) => void): void {
    this.#listener = listener;
  }

  statusOf(entry: PodEntry): ProviderPodStatus {
    const { shape, allocation, remembered, unplaced, ending } = entry;
    const status = podStatusOf({
      shape,
      allocation,
      remembered,
      unplaced,
      hostAddress: allocation && shape.network === "host" ? this.#options.addressOf(allocation.NodeID) : undefined,
      ending: ending !== undefined,
      restarts: entry.attempt.restarts,
      backOffMs: this.#retries.delayOf(entry),
      standings: this.#options.probing.standingsOf(entry),
    });
    return this.#options.hooks.applyTo(status, entry);
  }

  describe(entry: PodEntry): ProviderPod {
    const { ref, owner } = entry.shape;
    return { ref, owner, createdAt: entry.createdAt, status: this.statusOf(entry) };
  }

  /** Called when something about the pod has, or may have, changed. */
  onChange(entry: PodEntry): void {
    const { allocation, ending, jobId } = entry;
    // Registration is in progress, so the state in Nomad is unknown.
    if (entry.createIndex === 0) return;
    this.#options.hooks.watch(entry);
    this.#options.probing.watch(entry);
    this.#report(entry);
    if (ending) {
      if (hasEnded(allocation)) this.#purgeLater(entry);
      return;
    }
    if (entry.stopped || hasEnded(allocation)) {
      if (allocation && !entry.stopped && (entry.hasReplacement || isToBeStopped(allocation))) this.#stop(entry);
      else this.#retries.schedule(entry);
      return;
    }
    if (allocation && (entry.hasReplacement || isToBeStopped(allocation))) this.#stop(entry);
    for (const task of gatesToOpen(entry.shape, allocation, (name) => this.#isStarted(entry, name))) {
      if (entry.opened.has(task)) continue;
      this.#options.background.run(`open gate ${jobId}/${task}`, async (signal) => {
        await this.#options.clientOf(entry.shape.ref).writeVariable({ Path: variablePaths.gate(jobId, task), Items: { go: "1" } }, signal);
        entry.opened.add(task);
      });
    }
    this.#readNetwork(entry);
  }

  /** Nomad no longer holds the pod. */
  onGone(entry: PodEntry): void {
    this.#forget(entry);
    if (entry.shape.variables.length > 0 || gatedContainers(entry.shape).length > 0) this.cleanUp(entry);
  }

  /** Deletes the variables of a pod without a job, unless the pod is created again meanwhile. */
  cleanUp({ jobId, shape }: { readonly jobId: string; readonly shape: Pick<PodShape, "ref"> & Partial<PodShape> }): void {
    const { background, clientOf, registry } = this.#options;
    const client = clientOf(shape.ref);
    const variables = shape.variables ?? [variablePaths.confidential(jobId), variablePaths.files(jobId)];
    const paths = [...variables, ...gatePaths(jobId, shape.containers ?? [])];
    background.run(`delete variables of ${jobId}`, async (signal) => {
      for (const path of paths) if (!registry.get(shape.ref.uid)) await client.deleteVariable(path, signal);
    });
  }

  /** Asks Nomad whether somebody else has stopped or purged the pod's job. */
  lookAfter(entry: PodEntry): void {
    const { clientOf, background, registry } = this.#options;
    background.run(`look after ${entry.jobId}`, async (signal) => {
      try {
        const job = await clientOf(entry.shape.ref).readJob(entry.jobId, signal);
        if (registry.get(entry.shape.ref.uid) === entry) entry.stopped ||= job.Stop ?? false;
        this.onChange(entry);
      } catch (error) {
        // An unreadable job was logged already; another attempt would not help.
        if (isInvalidInput(error)) return;
        if (!isNotFound(error)) throw error;
        if (registry.get(entry.shape.ref.uid) === entry) this.onGone(entry);
      }
    });
  }

  /**
   * Ends a pod's containers within the grace period, counted from now, and then frees its job and variables. A pod that has
   * ended is freed at once.
   */
  async end(entry: PodEntry, graceSeconds: number, signal: AbortSignal): Promise<void> {
    const { clock, background, hooks } = this.#options;
    this.#retries.cancel(entry);
    if (hasEnded(entry.allocation) || (entry.stopped && !entry.allocation)) return this.#purge(entry, signal);
    const deadlineMs = clock.monotonic() + graceSeconds * 1000;
    const isFirst = !entry.ending;
    entry.ending ??= { deadlineMs, timer: undefined, purge: undefined };
    entry.ending.deadlineMs = Math.min(entry.ending.deadlineMs, deadlineMs);
    if (entry.stopped || !hooks.hasPreStop(entry)) return this.#stopWithin(entry, { isFirst, graceSeconds }, signal);
    const hooksDone = hooks.preStop(entry, entry.ending.deadlineMs);
    background.run(`end ${entry.jobId}`, async (until) => {
      await hooksDone;
      const leftMs = Math.max(minGraceMs, (entry.ending?.deadlineMs ?? 0) - clock.monotonic());
      if (entry.ending) entry.ending.deadlineMs = clock.monotonic() + leftMs;
      await this.#stopWithin(entry, { isFirst: true, graceSeconds: leftMs / 1000 }, until);
    });
    this.onChange(entry);
  }

  /** Purges the job of an unreadable pod, of which only the job ID is known. Nomad ends its containers with their own grace. */
  async endUnread({ jobId, ref }: { readonly jobId: string; readonly ref: PodRef }, signal: AbortSignal): Promise<void> {
    await this.#options.clientOf(ref).stopJob(jobId, { purge: true }, signal);
    this.cleanUp({ jobId, shape: { ref } });
    this.#listener?.({ ref, gone: true });
  }

  /** Frees all timers. */
  dispose(): void {
    this.#listener = undefined;
    for (const entry of this.#options.registry.entries) {
      this.#retries.cancel(entry);
      entry.ending?.timer?.[Symbol.dispose]();
      entry.ending?.purge?.[Symbol.dispose]();
    }
  }

  /** Stops the job, and kills what still runs when the grace is over. */
  async #stopWithin(
    entry: PodEntry,
    { isFirst, graceSeconds }: { readonly isFirst: boolean; readonly graceSeconds: number },
    signal: AbortSignal,
  ): Promise<void> {
    const { clientOf, registry } = this.#options;
    const client = clientOf(entry.shape.ref);
    if (isFirst || !entry.stopped) await client.stopJob(entry.jobId, { purge: false }, signal);
    entry.stopped = true;
    if (!entry.allocation) {
      for (const allocation of await client.jobAllocations(entry.jobId, signal)) registry.noteAllocation(allocation);
      if (!entry.allocation) return this.#purge(entry, signal);
    }
    // Nomad kills a task after the kill time-out that it was started with, so a longer grace is not possible.
    if (graceSeconds < entry.shape.graceSeconds && entry.ending) this.#killAt(entry, entry.ending.deadlineMs);
    this.onChange(entry);
  }

  #stop(entry: PodEntry): void {
    this.#options.background.run(`stop ${entry.jobId}`, async (signal) => {
      await this.#options.clientOf(entry.shape.ref).stopJob(entry.jobId, { purge: false }, signal);
      entry.stopped = true;
    });
  }

  #killAt(entry: PodEntry, deadlineMs: number): void {
    const { clock, background } = this.#options;
    const { ending } = entry;
    if (!ending) return;
    ending.timer?.[Symbol.dispose]();
    ending.timer = clock.setTimer(Math.max(0, deadlineMs - clock.monotonic()), () =>
      background.run(`kill ${entry.jobId}`, (signal) => this.#kill(entry, signal)),
    );
  }

  async #kill(entry: PodEntry, signal: AbortSignal): Promise<void> {
    const { clientOf, clock } = this.#options;
    const client = clientOf(entry.shape.ref);
    while (entry.allocation && !hasEnded(entry.allocation)) {
      const { ID, TaskStates } = entry.allocation;
      const alive = Object.entries(TaskStates ?? {}).filter(([, { State }]) => State === "running");
      // The task may have ended just before the signal.
      await Promise.allSettled(alive.map(([task]) => client.signalTask(ID, task, "SIGKILL", signal)));
      await clock.sleep(killEveryMs, signal);
    }
  }

  #purgeLater(entry: PodEntry): void {
    const { clock, background, purgeAfterMs } = this.#options;
    const { ending } = entry;
    if (!ending || ending.purge) return;
    ending.timer?.[Symbol.dispose]();
    ending.purge = clock.setTimer(purgeAfterMs, () => background.run(`purge ${entry.jobId}`, (signal) => this.#purge(entry, signal)));
  }

  async #purge(entry: PodEntry, signal: AbortSignal): Promise<void> {
    const client = this.#options.clientOf(entry.shape.ref);
    await client.stopJob(entry.jobId, { purge: true }, signal);
    for (const path of [...entry.shape.variables, ...gatePaths(entry.jobId, entry.shape.containers)])
      await client.deleteVariable(path, signal);
    this.#forget(entry);
  }

  #forget(entry: PodEntry): void {
    const { registry, onGone } = this.#options;
    this.#retries.cancel(entry);
    entry.ending?.timer?.[Symbol.dispose]();
    entry.ending?.purge?.[Symbol.dispose]();
    if (registry.get(entry.shape.ref.uid) !== entry) return;
    registry.remove(entry);
    this.#options.hooks.forget(entry.shape.ref.uid);
    this.#options.probing.stop(entry.shape.ref.uid);
    onGone(entry);
    this.#listener?.({ ref: entry.shape.ref, gone: true });
  }

  #isStarted(entry: PodEntry, name: string): boolean {
    const { initContainerStatuses = [], containerStatuses = [] } = this.statusOf(entry);
    return [...initContainerStatuses, ...containerStatuses].find((status) => status.name === name)?.started ?? false;
  }

  /** Reads the pod's address and ports, which lists leave out. */
  #readNetwork({ allocation, shape }: PodEntry): void {
    if (allocation?.ClientStatus !== "running" || shape.network === "host" || shape.network === "none") return;
    if (allocation.NetworkStatus && allocation.AllocatedResources) return;
    const { background, clientOf, registry } = this.#options;
    background.run(`read network of ${allocation.ID}`, async (signal) => {
      let detail: Allocation;
      try {
        detail = await clientOf(shape.ref).readAllocation(allocation.ID, signal);
      } catch (error) {
        if (isInvalidInput(error)) return;
        throw error;
      }
      const changed = registry.noteAllocation({
        ...detail,
        NetworkStatus: detail.NetworkStatus ?? {},
        AllocatedResources: detail.AllocatedResources ?? {},
      });
      if (changed) this.onChange(changed);
    });
  }

  #report(entry: PodEntry): void {
    const status = this.statusOf(entry);
    const told = JSON.stringify(status);
    if (told === entry.told) return;
    entry.told = told;
    this.#listener?.({ ref: entry.shape.ref, status });
  }
}

function gatePaths(jobId: string, containers: readonly ContainerShape[]): string[] {
  return gatedContainers({ containers }).map(({ name }) => variablePaths.gate(jobId, name));
}
