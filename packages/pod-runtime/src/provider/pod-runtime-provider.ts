import {
  isTerminalPhase,
  podRef,
  type AttachIO,
  type ContainerLogOptions,
  type ContainerLogs,
  type DeepReadonly,
  type DeletePodOptions,
  type ExecResult,
  type MetricFamily,
  type Pod,
  type PodRef,
  type PodUpdate,
  type Provider,
  type ProviderPod,
  type ProviderPodList,
  type ProviderPodStatus,
  type ResolvedPod,
  type StatsSummary,
} from "@virtual-kubelet/core";
import type { Duplex } from "node:stream";
import { isCriticalPod } from "../eviction/critical-pod.ts";
import { EvictionManager, type PressureStatus } from "../eviction/eviction-manager.ts";
import { checkImageVolumes } from "../pod/image-volumes.ts";
import { holdsNetwork } from "../pod/pod-report.ts";
import type { PodState } from "../pod/pod-state.ts";
import { checkHostPorts, checkPortsAreFree } from "../prepare/host-ports.ts";
import { ProbeCounts } from "../probe/probe-counts.ts";
import type { ContainerRuntime } from "../runtime/container-runtime.ts";
import { checkedPreparation } from "./checked-preparation.ts";
import { withDeadlines } from "./deadline-runtime.ts";
import { PodRegistry, type RegisteredPod } from "./pod-registry.ts";
import { withSandboxesAtOnce } from "./limited-runtime.ts";
import { withMeasurements } from "./measured-runtime.ts";
import { PodInventory, unknownPod } from "./pod-inventory.ts";
import type { PodRuntimeProviderOptions } from "./provider-options.ts";
import { checkRestartRules } from "./restart-rules.ts";
import { loggedId, runningId, sandboxId } from "./running-ids.ts";
import type { RuntimePod } from "./runtime-pods.ts";
import { RuntimePresence } from "./runtime-presence.ts";
import { RuntimeWatch } from "./runtime-watch.ts";
import { StatsReader } from "./stats-reader.ts";

/** Reason and manner of making a pod fail; see {@link PodRuntimeProvider.evictPod}. */
export interface Eviction {
  /** Reason of the pod's status. Default: `Evicted`. */
  readonly reason?: string | undefined;
  /** Message of the pod's status and of its event. */
  readonly message: string;
  /** Grace period in milliseconds. Default: 0. */
  readonly graceMs?: number | undefined;
  /** Whether the pod's status gets the condition `DisruptionTarget`, for a pod that is ended for the node's sake. Default: false. */
  readonly isDisruption?: boolean | undefined;
}

/**
 * A provider over a container runtime, except for its node: a worker for each pod, adoption of pods that an earlier program has started,
 * access to containers, figures. A provider extends it with `ping`, `configureNode` and further methods.
 *
 * Containers continue to run after it is disposed.
 */
export class PodRuntimeProvider implements Omit<Provider, "ping" | "configureNode"> {
  /**
   * Time for which the runtime may be unavailable before the node is reported down, in milliseconds. Source: maxWaitForContainerRuntime of
   * kubernetes v1.36.3 pkg/kubelet/kubelet.go.
   */
  readonly pingToleranceMs: number = 30_000;
  protected readonly options: PodRuntimeProviderOptions;
  readonly #runtime: ContainerRuntime;
  readonly #pods: PodRegistry;
  readonly #inventory: PodInventory;
  readonly #watch: RuntimeWatch;
  readonly #stats: StatsReader;
  readonly #probeCounts = new ProbeCounts();
  readonly #eviction: EvictionManager | undefined;
  readonly #end = new AbortController();
  readonly #configs: Disposable | undefined;
  #listener: ((update: PodUpdate) => void) | undefined;
  #onNodeChanged: (() => void) | undefined;
  #watching: Promise<unknown> | undefined;

  constructor(options: PodRuntimeProviderOptions) {
    const { host, storage, preparation, checkPod, settings = {} } = options;
    const { clock, random, logger } = host;
    this.options = options;
    const measured = withMeasurements(withDeadlines(options.runtime, clock, settings.deadlines), host);
    this.#runtime = withSandboxesAtOnce(measured, settings.sandboxesAtOnce ?? Infinity);
    const runtime = this.#runtime;
    const presence = new RuntimePresence();
    this.#pods = new PodRegistry({
      ...options,
      runtime,
      probeCounts: this.#probeCounts,
      presence,
      preparation: checkedPreparation(
        preparation,
        (pod) => checkPod?.(pod),
        (pod) => checkPortsAreFree(pod, this.#portHolders(true)),
      ),
      onReport: (ref, status) => {
        this.#listener?.({ ref, status });
        if (isTerminalPhase(status.phase)) this.#tellPortsFreed();
        if (status.phase === "Failed" && status.reason === "Evicted") this.#freeStorage(ref);
      },
      onGone: (ref) => {
        this.#listener?.({ ref, gone: true });
        this.#tellPortsFreed();
      },
    });
    this.#inventory = new PodInventory(this.#pods, host, this.#end.signal);
    this.#configs = host.onConfigChanged?.(({ uid }) => this.#pods.get(uid)?.worker.send({ kind: "configChanged" }));
    this.#watch = new RuntimeWatch({
      runtime,
      relistMs: settings.relistMs ?? 30_000,
      clock,
      random,
      logger,
      presence,
      onEvent: (event) => {
        const registered = this.#pods.values().find(({ worker }) => worker.isWatched(event.id));
        void registered?.worker.runtimeEvent(event, this.#end.signal);
      },
      relist: async (signal) => void (await this.#inventory.lookAtAll(signal)),
    });
    this.#stats = new StatsReader({
      runtime,
      storage,
      cgroups: options.cgroups,
      nodeStats: options.nodeStats,
      clock,
      logger,
      keepMs: settings.statsMs ?? 10_000,
      concurrency: settings.statsConcurrency ?? 256,
      signal: this.#end.signal,
      pods: () => this.#pods.values(),
    });
    this.#eviction = this.#evictionManager();
  }

  #evictionManager(): EvictionManager | undefined {
    const { host, eviction, nodeStats } = this.options;
    if (!eviction || !nodeStats) return undefined;
    return new EvictionManager({
      ...eviction,
      clock: host.clock,
      logger: host.logger,
      metrics: host.metrics,
      nodeStats,
      podStats: async (signal) => (await this.#stats.measured(signal)).pods,
      pods: () => this.#pods.values().flatMap(({ worker: { state } }) => (isActive(state) ? [state.desired.pod] : [])),
      evict: (ref, how) => this.evictPod(ref, how),
      hasEnded: ({ uid }) => {
        const state = this.#pods.get(uid)?.worker.state;
        return !state || !holdsNetwork(state);
      },
      recordNodeEvent: (event) => host.recordNodeEvent?.(event),
      reclaimContainers: (signal) => this.#pods.removeEnded(signal),
      onConditions: () => this.#onNodeChanged?.(),
    });
  }

  /** MemoryPressure, DiskPressure and PIDPressure, for `configureNode`. Empty without the option `eviction`. */
  get pressureConditions(): readonly PressureStatus[] {
    return this.#eviction?.conditions ?? [];
  }

  /** As `NodeProvider.notifyNodeStatus`. Called when {@link pressureConditions} change. */
  notifyNodeStatus(listener: () => void): void {
    this.#onNodeChanged = listener;
  }

  /** As `PodNotifier.notifyPods`. Starts to watch the runtime. */
  notifyPods(listener: (update: PodUpdate) => void): void {
    this.#listener = listener;
    const { signal } = this.#end;
    this.#watching ??= Promise.allSettled([this.#watch.run(signal), this.#eviction?.run(signal)]);
  }

  /**
   * As `PodLifecycleHandler.createPod`. Adopts the pod's objects at the runtime, and starts the rest.
   *
   * A new pod that needs a port of the node is accepted while an ending pod still has the port, and waits for it.
   *
   * @throws TerminalError for a new pod: reason `NodePorts` if another pod has its port of the node, `Evicted` if the node is under
   * pressure
   */
  async createPod(pod: DeepReadonly<Pod>, _resolved: ResolvedPod, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const ref = podRef(pod);
    if (this.#update(ref, pod)) return;
    const found = await this.#pods.find(ref, signal);
    // A pod that runs is not admitted again.
    if (!found) this.#checkNew(pod);
    await this.#take(pod, found);
  }

  /** As `PodLifecycleHandler.updatePod`. A container that the node refuses waits; other changes are applied. */
  async updatePod(pod: DeepReadonly<Pod>, _resolved: ResolvedPod, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const ref = podRef(pod);
    if (this.#update(ref, pod)) return;
    await this.#take(pod, await this.#inventory.find(ref, signal));
  }

  /** As `PodLifecycleHandler.deletePod`, also for a pod that is known only from its containers' labels. */
  async deletePod(ref: PodRef, { gracePeriodSeconds }: DeletePodOptions, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const graceMs = gracePeriodSeconds * 1000;
    const registered = this.#pods.get(ref.uid) ?? (await this.#takeToEnd(ref, graceMs, signal));
    registered.worker.send({ kind: "deleted", graceMs });
  }

  /** As `PodLifecycleHandler.getPod`. */
  async getPod(ref: PodRef, signal: AbortSignal): Promise<ProviderPod> {
    signal.throwIfAborted();
    return this.#inventory.pod(ref, signal);
  }

  /** As `PodLifecycleHandler.getPodStatus`. */
  async getPodStatus(ref: PodRef, signal: AbortSignal): Promise<ProviderPodStatus> {
    return (await this.getPod(ref, signal)).status;
  }

  /** As `PodLifecycleHandler.getPods`. Adopts pods of the node, and throws rather than return a part. */
  async getPods(signal: AbortSignal): Promise<ProviderPodList> {
    signal.throwIfAborted();
    return this.#inventory.list(signal);
  }

  /**
   * Makes a pod fail. The failed pod keeps its status and logs until it is deleted. Critical pods are not evicted.
   *
   * @returns whether this call started the pod's end
   */
  evictPod(ref: PodRef, { reason = "Evicted", message, graceMs = 0, isDisruption }: Eviction): boolean {
    const worker = this.#pods.get(ref.uid)?.worker;
    if (!worker || worker.state.ending) return false;
    if (isCriticalPod(worker.state.desired.pod)) {
      this.options.host.logger.error({ pod: `${ref.namespace}/${ref.name}`, message }, "a critical pod cannot be evicted");
      return false;
    }
    this.options.host.recordEvent(ref, { type: "Warning", reason, message });
    worker.send({ kind: "failed", graceMs, reason, message, isDisruption });
    return true;
  }

  /** Whether the runtime may hold something of the pod. True for every UID before the first list. */
  isKnown(uid: string): boolean {
    return this.#pods.isKnown(uid);
  }

  /** As `ContainerAccess.getContainerLogs`. */
  async getContainerLogs(ref: PodRef, container: string, options: ContainerLogOptions, signal: AbortSignal): Promise<ContainerLogs> {
    const id = loggedId(await this.#inventory.state(ref, signal), container, options.previous);
    return this.#runtime.logs(id, { ...options, previous: false }, signal);
  }

  /** As `ContainerAccess.runInContainer`. */
  async runInContainer(ref: PodRef, container: string, command: readonly string[], io: AttachIO, signal: AbortSignal): Promise<ExecResult> {
    return this.#runtime.exec(runningId(await this.#inventory.state(ref, signal), container), command, io, signal);
  }

  /** As `ContainerAccess.attachToContainer`. */
  async attachToContainer(ref: PodRef, container: string, io: AttachIO, signal: AbortSignal): Promise<void> {
    return this.#runtime.attach(runningId(await this.#inventory.state(ref, signal), container), io, signal);
  }

  /** As `ContainerAccess.portForward`. */
  async portForward(ref: PodRef, port: number, stream: Duplex, signal: AbortSignal): Promise<void> {
    return this.#runtime.portForward(sandboxId(await this.#inventory.state(ref, signal), ref), port, stream, signal);
  }

  /** As `PodMetricsProvider.getStatsSummary`. */
  getStatsSummary(signal: AbortSignal): Promise<StatsSummary> {
    return this.#stats.summary(signal);
  }

  /** As `PodMetricsProvider.getMetricsProbes`. */
  async getMetricsProbes(signal: AbortSignal): Promise<readonly MetricFamily[]> {
    signal.throwIfAborted();
    return this.#probeCounts.families();
  }

  /** Ends the management of all pods. Their containers continue to run. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener = undefined;
    this.#configs?.[Symbol.dispose]();
    this.#end.abort(new Error("the provider was closed"));
    await this.#pods[Symbol.asyncDispose]();
    await this.#watching;
  }

  #checkNew(pod: DeepReadonly<Pod>): void {
    this.#eviction?.admit(pod);
    checkRestartRules(pod);
    checkImageVolumes(pod, this.#runtime);
    this.options.checkPod?.(pod);
    checkHostPorts(pod, this.#portHolders(false));
  }

  /**
   * Pods that may hold ports of the node: those that are ending, for whose ports a new pod waits, or those that are not, whose ports refuse
   * a new pod.
   */
  #portHolders(isEnding: boolean): readonly DeepReadonly<Pod>[] {
    const { host } = this.options;
    return this.#pods.values().flatMap(({ ref, worker: { state } }) => {
      if (!holdsNetwork(state)) return [];
      const wanted = host.findPod(ref);
      // The API server may have removed the pod before its deletion was reported.
      const isGoing = state.ending !== undefined || !wanted || wanted.metadata?.deletionTimestamp !== undefined;
      return isGoing === isEnding ? [state.desired.pod] : [];
    });
  }

  /** The node lacks the disk and memory that an evicted pod holds. A kubelet, too, removes its volumes at its end. */
  #freeStorage(ref: PodRef): void {
    const { storage, host } = this.options;
    storage?.release(ref, this.#end.signal).catch((error: unknown) => {
      if (!this.#end.signal.aborted)
        host.logger.warn({ pod: `${ref.namespace}/${ref.name}`, err: error }, "volumes of an evicted pod stay until it is deleted");
    });
  }

  #tellPortsFreed(): void {
    for (const { worker } of this.#pods.values()) worker.send({ kind: "portsFreed" });
  }

  /** @returns whether the pod has a worker */
  #update({ uid }: PodRef, pod: DeepReadonly<Pod>): boolean {
    const registered = this.#pods.get(uid);
    registered?.worker.send({ kind: "updated", pod });
    return registered !== undefined;
  }

  /** Starts a worker with the pod's current spec. A list may have adopted the pod with an earlier one. */
  async #take(pod: DeepReadonly<Pod>, found: RuntimePod | undefined): Promise<void> {
    const { worker } = await this.#pods.take(pod, found);
    if (worker.state.desired.pod !== pod) worker.send({ kind: "updated", pod });
  }

  async #takeToEnd(ref: PodRef, graceMs: number, signal: AbortSignal): Promise<RegisteredPod> {
    const found = await this.#pods.find(ref, signal);
    if (found) return this.#pods.take(asDeleted(this.#pods.podOf(found), this.options.host.clock.now() + graceMs), found);
    // Its containers are gone, but data on the disk may be left.
    await Promise.all([this.options.storage?.release(ref, signal), this.options.cgroups?.release(ref, signal)]);
    throw unknownPod(ref);
  }
}

/** Whether the pod may be evicted: it runs, and is not ending. */
function isActive(state: PodState): boolean {
  return !state.ending && state.stage.kind === "up" && holdsNetwork(state);
}

/** The pod with a deletion time stamp, so that nothing of it is started. */
function asDeleted(pod: DeepReadonly<Pod>, atMs: number): DeepReadonly<Pod> {
  return { ...pod, metadata: { ...pod.metadata, deletionTimestamp: new Date(atMs).toISOString() } };
}
