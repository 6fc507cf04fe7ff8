import {
  isTerminalPhase,
  podRef,
  type DeepReadonly,
  type Owner,
  type Pod,
  type PodRef,
  type ProviderHost,
  type ProviderPodStatus,
} from "@virtual-kubelet/core";
import type { RuntimePresence } from "./runtime-presence.ts";
import { groupByPod, type RuntimePod } from "./runtime-pods.ts";
import type { Instant } from "../pod/instant.ts";
import { desiredPodOf } from "../pod/desired-pod.ts";
import { podReport } from "../pod/pod-report.ts";
import type { PodState } from "../pod/pod-state.ts";
import type { ProbeCounts } from "../probe/probe-counts.ts";
import type { ContainerRuntime, RuntimeInventory } from "../runtime/container-runtime.ts";
import { labelNames, ownerLabels } from "../runtime/labels.ts";
import { adoptPod, endedUnheard } from "../worker/adopt.ts";
import { writtenMessage } from "../worker/container-end.ts";
import type { PodStorage } from "../worker/pod-storage.ts";
import { podFromLabels } from "../worker/pod-from-labels.ts";
import { PodWorker } from "../worker/pod-worker.ts";
import type { PodCgroupKeeper } from "../worker/pod-cgroup-keeper.ts";
import type { PodPreparation } from "../worker/preparation.ts";

/** Delay before an adopted pod's volumes are prepared again after a failure, in milliseconds. */
const prepareAgainMs = 10_000;

const nothing: RuntimeInventory = { sandboxes: [], containers: [] };

/** A pod with its worker. */
export interface RegisteredPod {
  readonly ref: PodRef;
  readonly worker: PodWorker;
  /** Wall-clock milliseconds since the epoch. */
  readonly createdAtMs: number;
}

export interface PodRegistryOptions {
  readonly host: ProviderHost;
  readonly runtime: ContainerRuntime;
  readonly presence: RuntimePresence;
  readonly preparation: PodPreparation;
  readonly storage?: PodStorage | undefined;
  readonly cgroups?: PodCgroupKeeper | undefined;
  /** Default: probes are not counted. */
  readonly probeCounts?: ProbeCounts | undefined;
  /** Called when a pod's status has changed. */
  onReport(ref: PodRef, status: ProviderPodStatus): void;
  /** Called when the runtime holds nothing of a pod any more. */
  onGone(ref: PodRef): void;
}

/** The pods that this program runs, by UID, each with its worker. Reads other pods of the node from the runtime. */
export class PodRegistry implements AsyncDisposable {
  readonly #options: PodRegistryOptions;
  readonly #owner: Owner;
  readonly #pods = new Map<string, RegisteredPod>();
  readonly #taking = new Map<string, Promise<RegisteredPod>>();
  readonly #running = new Set<Promise<void>>();
  /** For each list in progress: pods that have ended since its request. The list may still contain them. */
  readonly #endedSince = new Set<Set<string>>();
  readonly #end = new AbortController();
  #listed: ReadonlySet<string> | undefined;

  constructor(options: PodRegistryOptions) {
    this.#options = options;
    this.#owner = { clusterId: options.host.clusterId, nodeName: options.host.nodeName };
  }

  /** Owner of the node's objects at the runtime. */
  get owner(): Owner {
    return this.#owner;
  }

  get(uid: string): RegisteredPod | undefined {
    return this.#pods.get(uid);
  }

  values(): readonly RegisteredPod[] {
    return [...this.#pods.values()];
  }

  /** Whether something of a pod may exist. True for every pod before the first list. */
  isKnown(uid: string): boolean {
    return this.#pods.has(uid) || this.#taking.has(uid) || (this.#listed?.has(uid) ?? true);
  }

  /** All objects of the node at the runtime, by pod UID. @throws as the runtime; never returns a part */
  async listAll(signal: AbortSignal): Promise<ReadonlyMap<string, RuntimePod>> {
    const pods = await this.#list(ownerLabels(this.#owner), signal);
    this.#listed = new Set(pods.keys());
    return pods;
  }

  /** The pod's objects at the runtime; `undefined` if there are none. @throws as the runtime */
  async find({ uid }: PodRef, signal: AbortSignal): Promise<RuntimePod | undefined> {
    return (await this.#list({ ...ownerLabels(this.#owner), [labelNames.podUid]: uid }, signal)).get(uid);
  }

  /**
   * Starts a worker for the pod, from the state of its objects at the runtime. A registered pod keeps its worker.
   *
   * @param found - the pod's objects at the runtime
   */
  take(pod: DeepReadonly<Pod>, found: RuntimePod | undefined): Promise<RegisteredPod> {
    const uid = pod.metadata?.uid ?? "";
    const registered = this.#pods.get(uid);
    if (registered) return Promise.resolve(registered);
    const taking = this.#taking.get(uid) ?? this.#take(pod, found).finally(() => this.#taking.delete(uid));
    this.#taking.set(uid, taking);
    return taking;
  }

  /** The pod that belongs to objects at the runtime: from the API server, else from their labels. */
  podOf({ ref, inventory }: RuntimePod): DeepReadonly<Pod> {
    return this.#options.host.findPod(ref) ?? podFromLabels(ref, inventory);
  }

  /** State of a pod that has no worker. */
  stateOf(found: RuntimePod): PodState {
    return adoptPod(this.podOf(found), { inventory: found.inventory }, this.#now());
  }

  /** Status of a pod that has no worker. */
  statusOf(found: RuntimePod): ProviderPodStatus {
    return podReport(this.stateOf(found), this.#options.runtime.name);
  }

  /**
   * Removes the containers of pods that have ended, with their logs, though the API server still has the pods. Their statuses stay.
   *
   * @returns how many pods had any
   * @throws as the runtime
   */
  async removeEnded(signal: AbortSignal): Promise<number> {
    const { host, runtime } = this.#options;
    // The API server must have the final status, because part of it is known only from the containers.
    const isOver = ({ ref, worker }: RegisteredPod): boolean =>
      worker.state.stage.kind === "finished" && isTerminalPhase(host.findPod(ref)?.status?.phase);
    let removed = 0;
    for (const { ref } of this.values().filter(isOver)) {
      const sandboxes = (await this.find(ref, signal))?.inventory.sandboxes ?? [];
      await Promise.all(sandboxes.map(({ id }) => runtime.removeSandbox(id, signal)));
      if (sandboxes.length > 0) removed++;
    }
    return removed;
  }

  /** Ends all workers. Containers go on running. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort(new Error("the provider was closed"));
    await Promise.allSettled([...this.#running, ...this.#taking.values()]);
  }

  async #list(labels: Readonly<Record<string, string>>, signal: AbortSignal): Promise<ReadonlyMap<string, RuntimePod>> {
    const ended = new Set<string>();
    this.#endedSince.add(ended);
    try {
      const pods = groupByPod(await this.#options.runtime.list(labels, signal));
      return new Map([...pods].filter(([uid]) => !ended.has(uid)));
    } finally {
      this.#endedSince.delete(ended);
    }
  }

  async #take(pod: DeepReadonly<Pod>, found: RuntimePod | undefined): Promise<RegisteredPod> {
    const { host, runtime, presence, preparation, storage, cgroups, onReport } = this.#options;
    const ref = podRef(pod);
    const messages = found ? await this.#readMessages(pod, found) : undefined;
    this.#end.signal.throwIfAborted();
    // The stored status is needed even without objects at the runtime: some containers must not run twice.
    const state = adoptPod(pod, { inventory: found?.inventory ?? nothing, messages }, this.#now());
    const unstarted = found?.inventory.containers.filter((container) => container.state.kind === "created") ?? [];
    const worker = new PodWorker({
      ref,
      owner: this.#owner,
      state,
      mayHaveBegun: unstarted.map(({ id }) => id),
      runtime,
      presence,
      prepare: preparation,
      storage,
      cgroups,
      hostIP: host.nodeAddress,
      clock: host.clock,
      logger: host.logger.child({ pod: `${ref.namespace}/${ref.name}`, uid: ref.uid }),
      onReport: (status) => onReport(ref, status),
      onProbe: (probe) => this.#options.probeCounts?.count(ref, probe),
      onNotice: ({ type, reason, message, container }) => host.recordEvent(ref, { type, reason, message, container }),
    });
    const registered = { ref, worker, createdAtMs: found?.createdAtMs ?? host.clock.now() };
    this.#pods.set(ref.uid, registered);
    this.#track(this.#run(registered));
    if (state.stage.kind === "up" && storage) this.#track(this.#keepPrepared(registered, storage));
    return registered;
  }

  #track(work: Promise<void>): void {
    this.#running.add(work);
    void work.finally(() => this.#running.delete(work));
  }

  /** Never rejects. */
  async #run(registered: RegisteredPod): Promise<void> {
    const { ref, worker } = registered;
    const { signal } = this.#end;
    try {
      await worker.run(signal);
      this.#options.probeCounts?.forget(ref);
      for (const ended of this.#endedSince) ended.add(ref.uid);
      this.#pods.delete(ref.uid);
      this.#options.onGone(ref);
    } catch (error) {
      this.#pods.delete(ref.uid);
      if (!signal.aborted)
        this.#options.host.logger.error({ pod: `${ref.namespace}/${ref.name}`, err: error }, "a pod's worker has failed");
    }
  }

  /** Updates the volumes of an adopted pod again. Never rejects. */
  async #keepPrepared(registered: RegisteredPod, storage: PodStorage): Promise<void> {
    const { clock, logger } = this.#options.host;
    const { signal } = this.#end;
    while (!signal.aborted && this.#pods.get(registered.ref.uid) === registered && !registered.worker.state.ending) {
      try {
        return await storage.prepare(registered.worker.state.desired.pod, signal);
      } catch (error) {
        if (signal.aborted) return;
        logger.warn(
          { pod: `${registered.ref.namespace}/${registered.ref.name}`, err: error },
          "the volumes of a pod could not be prepared; will retry",
        );
        await clock.sleep(prepareAgainMs, signal).catch(() => {});
      }
    }
  }

  async #readMessages(pod: DeepReadonly<Pod>, { ref, inventory }: RuntimePod): Promise<ReadonlyMap<string, string>> {
    const { runtime, storage, host } = this.#options;
    const desired = new Map(desiredPodOf(pod).containers.map((container) => [container.name, container]));
    const read = endedUnheard(pod, inventory).map(async ({ container, attempt, id, exit }): Promise<[string, string]> => {
      const ended = { ref, desired: desired.get(container), container, attempt, id };
      return [id, await writtenMessage(ended, exit, { runtime, storage, clock: host.clock, logger: host.logger }, this.#end.signal)];
    });
    return new Map(await Promise.all(read));
  }

  #now(): Instant {
    const { clock } = this.#options.host;
    return { wallMs: clock.now(), monotonicMs: clock.monotonic() };
  }
}
