import { inTurns, SingleFlight } from "@virtual-kubelet/async";
import {
  isTerminalPhase,
  podRef,
  type AttachIO,
  type ContainerLogOptions,
  type ContainerLogs,
  type DeletePodOptions,
  type ExecResult,
  type NodeDescription,
  type PodRef,
  type PodUpdate,
  type Provider,
  type ProviderPod,
  type ProviderPodList,
  type ProviderPodStatus,
  type ResolvedPod,
  type StatsSummary,
  type DeepReadonly,
  type Pod,
} from "@virtual-kubelet/core";
import { NotFoundError, TerminalError, UnavailableError } from "@virtual-kubelet/errdefs";
import type { Duplex } from "node:stream";
import { nodeConfigOf, type MockConfig, type ResolvedMockNodeConfig } from "./config.ts";
import { apiTime } from "./container/api-time.ts";
import type { Instant } from "./container/container-state.ts";
import { readContainerLogs } from "./container/container-logs.ts";
import { containerSpecsOf, payloadVolumesOf } from "./container/container-spec.ts";
import { LoadMeter } from "./stats/load-meter.ts";
import type { MockHost } from "./mock-host.ts";
import { changed, type MockPod } from "./pod/mock-pod.ts";
import { attach, exec, forward, logSourceOf } from "./pod/pod-access.ts";
import { PodAddresses } from "./pod/pod-addresses.ts";
import { UsedAddresses } from "./pod/used-addresses.ts";
import { adoptedPodModel, hasEnded, newPodModel, podDueMs, settle, stopPod, updatePodModel, type PodModel } from "./pod/pod-model.ts";
import { toPodStatus } from "./pod/pod-status.ts";
import { annotationDomain, scriptOf, type PodScript } from "./script/script.ts";

/**
 * Simulates pods in memory. No container runs. The state of a pod is its status at the API server: the first `getPods` of another process finds
 * the pods that run according to `ProviderHost.listPods`, with the same containers, start times, restarts and addresses. A pod without a script runs when `createPod` returns, and
 * has ended when `deletePod` returns; it costs no timer, and no memory except its state.
 */
export class MockProvider implements Provider, AsyncDisposable {
  readonly #host: MockHost;
  readonly #config: MockConfig;
  readonly #node: ResolvedMockNodeConfig;
  readonly #addresses: PodAddresses;
  readonly #meter: LoadMeter;
  readonly #pods = new Map<string, MockPod>();
  readonly #adoptions = new SingleFlight<void>();
  #hasAdopted = false;
  #listener: ((update: PodUpdate) => void) | undefined;
  #now: Instant = { ms: -1, time: "" };
  #second = -1;

  /** @param usedAddresses - addresses of the pods of all nodes in this process. Default: the node's own pods only */
  constructor(host: MockHost, config: MockConfig, usedAddresses: UsedAddresses = new UsedAddresses()) {
    this.#host = host;
    this.#config = config;
    this.#node = nodeConfigOf(config, host.nodeName);
    this.#addresses = new PodAddresses({ range: this.#node.podCIDR, nodeName: host.nodeName, used: usedAddresses });
    this.#meter = new LoadMeter(host.nodeName, this.#instant());
  }

  /**
   * Starts the pod's script. Secrets and config maps in the environment are resolved, so that a pod waits for them as on any node; a pod
   * without them causes no calls. A pod whose status shows containers of a mock provider goes on instead.
   */
  async createPod(pod: DeepReadonly<Pod>, resolved: ResolvedPod, signal: AbortSignal): Promise<void> {
    await this.#adoptAll(signal);
    if (this.#pods.has(podRef(pod).uid) || this.#adopt(pod)) return;
    const script = scriptOf(pod, this.#config.stages);
    failAsScripted(script);
    for (const container of [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])]) {
      if (readsReferences(container)) await resolved.environment(container.name, signal);
    }
    const ownIP = pod.spec?.hostNetwork ? undefined : this.#addresses.take();
    this.#add(pod, newPodModel(pod, script, this.#instant()), ownIP);
  }

  /** Goes on with all pods of the node, once, before a new pod can get the address of one. */
  async #adoptAll(signal: AbortSignal): Promise<void> {
    if (this.#hasAdopted) return;
    const adopt = async (shared: AbortSignal): Promise<void> => {
      const pods = this.#host.listPods?.() ?? [];
      // Pods without an address get one that no other pod has.
      const inOrder = [...pods.filter(({ status }) => status?.podIP), ...pods.filter(({ status }) => !status?.podIP)];
      await inTurns(inOrder, { clock: this.#host.clock, signal: shared }, (pod) => {
        if (this.#pods.has(pod.metadata?.uid ?? "") || isTerminalPhase(pod.status?.phase)) return;
        try {
          this.#adopt(pod);
        } catch {
          // `createPod` throws it again, for people to read.
        }
      });
      this.#hasAdopted = true;
    };
    await this.#adoptions.run("adopt", adopt, signal);
  }

  /** Goes on with a pod as its status shows it. @returns whether it ran at a mock provider */
  #adopt(pod: DeepReadonly<Pod>): boolean {
    const { clock } = this.#host;
    const model = adoptedPodModel(pod, scriptOf(pod, this.#config.stages), this.#instant(), clock.now());
    if (!model) return false;
    // A pod keeps its address even if another pod has it, because a pod's address never changes.
    this.#add(pod, model, pod.spec?.hostNetwork ? undefined : this.#addresses.keep(pod.status?.podIP));
    return true;
  }

  #add(pod: DeepReadonly<Pod>, model: PodModel, ownIP: string | undefined): void {
    const ref = podRef(pod);
    const now = this.#instant();
    const entry: MockPod = {
      ref,
      createdAt: apiTime(pod.status?.startTime) ?? now.time,
      createdMs: now.ms,
      ownIP,
      containerSpecs: containerSpecsOf(pod),
      payloadVolumes: payloadVolumesOf(pod),
      model,
      deleted: false,
      timer: undefined,
      files: undefined,
      watchers: undefined,
    };
    this.#pods.set(ref.uid, entry);
    this.#report(entry);
    this.#arm(entry, now);
  }

  async updatePod(pod: DeepReadonly<Pod>): Promise<void> {
    const entry = this.#find(podRef(pod));
    const script = scriptOf(pod, this.#config.stages);
    const now = this.#instant();
    this.#become(entry, updatePodModel(entry.model, pod, script, now), now);
  }

  async deletePod(ref: PodRef, { gracePeriodSeconds }: DeletePodOptions): Promise<void> {
    const entry = this.#find(ref);
    const now = this.#instant();
    entry.deleted = true;
    this.#become(entry, stopPod(entry.model, now.ms + gracePeriodSeconds * 1000, now), now);
  }

  async getPod(ref: PodRef): Promise<ProviderPod> {
    return this.#describe(this.#find(ref));
  }

  async getPodStatus(ref: PodRef): Promise<ProviderPodStatus> {
    return this.#statusOf(this.#find(ref));
  }

  async getPods(signal: AbortSignal): Promise<ProviderPodList> {
    await this.#adoptAll(signal);
    const pods: ProviderPod[] = [];
    await inTurns([...this.#pods.keys()], { clock: this.#host.clock, signal }, (uid) => {
      const entry = this.#pods.get(uid);
      if (entry) pods.push(this.#describe(entry));
    });
    return { pods, complete: true };
  }

  notifyPods(listener: (update: PodUpdate) => void): void {
    this.#listener = listener;
  }

  async getContainerLogs(ref: PodRef, container: string, options: ContainerLogOptions, signal: AbortSignal): Promise<ContainerLogs> {
    const source = logSourceOf(this.#find(ref), container, { previous: options.previous, clock: this.#host.clock });
    return readContainerLogs(source, options, signal);
  }

  async runInContainer(ref: PodRef, container: string, command: readonly string[], io: AttachIO, signal: AbortSignal): Promise<ExecResult> {
    return exec(this.#find(ref), { container, command, io, host: this.#host }, signal);
  }

  async attachToContainer(ref: PodRef, container: string, io: AttachIO, signal: AbortSignal): Promise<void> {
    await attach(this.#find(ref), { container, io, clock: this.#host.clock }, signal);
  }

  async portForward(ref: PodRef, port: number, stream: Duplex, signal: AbortSignal): Promise<void> {
    await forward(this.#find(ref), port, stream, signal);
  }

  async getStatsSummary(): Promise<StatsSummary> {
    return this.#meter.summary([...this.#pods.values()], this.#instant(), new Date(this.#host.clock.now()).toISOString());
  }

  /** Always succeeds. */
  async ping(): Promise<void> {}

  async configureNode(): Promise<NodeDescription> {
    const { cpu, memory, pods, ephemeralStorage, others, providerID } = this.#node;
    return {
      capacity: { cpu, memory, pods, "ephemeral-storage": ephemeralStorage, ...others },
      containerRuntimeVersion: "mock://0",
      ...(providerID !== undefined && { providerID }),
    };
  }

  /** Removes all pods and their timers. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const { timer, ownIP } of this.#pods.values()) {
      timer?.[Symbol.dispose]();
      if (ownIP !== undefined) this.#addresses.giveBack(ownIP);
    }
    this.#pods.clear();
  }

  #find(ref: PodRef): MockPod {
    const entry = this.#pods.get(ref.uid);
    if (!entry) throw new NotFoundError(`pod ${ref.namespace}/${ref.name} (${ref.uid}) is unknown to the mock provider`);
    return entry;
  }

  /** Sets a pod's next state, reports it if it differs, and removes a deleted pod that has ended. */
  #become(entry: MockPod, model: PodModel, now: Instant): void {
    const isChanged = model !== entry.model;
    if (isChanged) this.#meter.note(entry, model);
    entry.model = model;
    entry.timer?.[Symbol.dispose]();
    entry.timer = undefined;
    const gone = entry.deleted && hasEnded(model);
    if (gone) this.#forget(entry);
    if (isChanged || gone) this.#report(entry);
    if (isChanged) changed(entry);
    if (!gone) this.#arm(entry, now);
  }

  #forget(entry: MockPod): void {
    this.#pods.delete(entry.ref.uid);
    if (entry.ownIP !== undefined) this.#addresses.giveBack(entry.ownIP);
  }

  /** Sets the timer for the next change of the pod's script. */
  #arm(entry: MockPod, now: Instant): void {
    const due = podDueMs(entry.model);
    if (due === undefined) return;
    entry.timer = this.#host.clock.setTimer(Math.max(0, due - now.ms), () => {
      const then = this.#instant(due);
      this.#become(entry, settle(entry.model, then), then);
    });
  }

  #report(entry: MockPod): void {
    this.#listener?.({ ref: entry.ref, status: this.#statusOf(entry) });
  }

  #describe(entry: MockPod): ProviderPod {
    const { clusterId, nodeName } = this.#host;
    return { ref: entry.ref, owner: { clusterId, nodeName }, createdAt: entry.createdAt, status: this.#statusOf(entry) };
  }

  #statusOf({ ref, model, ownIP, deleted }: MockPod): ProviderPodStatus {
    return toPodStatus(model, { ref, deleted, podIP: ownIP ?? this.#host.nodeAddress });
  }

  /** The current time, but at least `atLeastMs`, because timers may fire slightly early. The text is cached for a second. */
  #instant(atLeastMs: number = 0): Instant {
    const { clock } = this.#host;
    const second = Math.floor(clock.now() / 1000);
    const time = second === this.#second ? this.#now.time : `${new Date(second * 1000).toISOString().slice(0, 19)}Z`;
    this.#second = second;
    this.#now = { ms: Math.max(atLeastMs, clock.monotonic()), time };
    return this.#now;
  }
}

function failAsScripted({ fail }: PodScript): void {
  if (fail === "provider-error") throw new UnavailableError(`the mock back end is unavailable, as ${annotationDomain}/fail says`);
  if (fail === "terminal-error") throw new TerminalError(`the mock back end refuses the pod permanently, as ${annotationDomain}/fail says`);
}

function readsReferences({
  env,
  envFrom,
}: {
  env?: readonly { valueFrom?: unknown }[] | undefined;
  envFrom?: readonly unknown[] | undefined;
}): boolean {
  return (envFrom?.length ?? 0) > 0 || (env?.some(({ valueFrom }) => valueFrom !== undefined) ?? false);
}
