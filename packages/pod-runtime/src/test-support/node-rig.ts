import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import {
  isTerminalPhase,
  podRef,
  type ContainerStatus,
  type DeepReadonly,
  type Pod,
  type PodRef,
  type PodUpdate,
  type ProviderHost,
  type ProviderPodStatus,
} from "@virtual-kubelet/core";
import { isNotFound, NotFoundError } from "@virtual-kubelet/errdefs";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { FakeRuntime } from "./fake-runtime.ts";
import { FakeResolvedPod } from "./fake-resolved-pod.ts";
import { MortalRuntime, type Moment } from "./mortal-runtime.ts";
import { plainPreparation } from "./plain-preparation.ts";
import { PodRuntimeProvider } from "../provider/pod-runtime-provider.ts";
import type { PodRuntimeProviderOptions } from "../provider/provider-options.ts";

/** End of a container's process by itself. */
export interface ProcessEnd {
  readonly afterMs: number;
  readonly exitCode: number;
}

/** One program that runs the node, from its start to its death. */
export interface Program {
  readonly provider: PodRuntimeProvider;
  readonly mortal: MortalRuntime;
  readonly updates: PodUpdate[];
}

/**
 * A node on a fake runtime, with the necessary parts of a cluster: pods with their stored statuses, and core's requests to the provider.
 * Runtime, pods and time outlive the programs.
 */
export class NodeRig {
  readonly clock: VirtualClock = new VirtualClock();
  readonly runtime: FakeRuntime = new FakeRuntime(this.clock);
  /** The API server's pods, by UID. */
  readonly pods: Map<string, Pod> = new Map<string, Pod>();
  readonly events: string[] = [];
  readonly signal: AbortSignal = new AbortController().signal;
  readonly #onConfigChanged = new Set<(pod: PodRef) => void>();
  #program: Program | undefined;

  /** @param ends - how processes end by themselves, by container and attempt: `app/0` */
  constructor(ends: Readonly<Record<string, ProcessEnd>> = {}) {
    this.runtime.onBegun = (id, name) => {
      const end = ends[name];
      if (end) this.clock.setTimer(end.afterMs, () => this.runtime.containers.has(id) && this.runtime.end(id, end.exitCode));
    };
  }

  get provider(): PodRuntimeProvider {
    return this.program.provider;
  }

  get program(): Program {
    if (!this.#program) throw new Error("no program runs");
    return this.#program;
  }

  /** Starts a program. The one before has died. */
  start(more: Partial<PodRuntimeProviderOptions> = {}, death?: Moment): Program {
    const mortal = new MortalRuntime(this.runtime, { clock: this.clock, death, onDeath: () => void provider[Symbol.asyncDispose]() });
    const updates: PodUpdate[] = [];
    const host = this.#host(mortal);
    const provider = new PodRuntimeProvider({
      host,
      runtime: mortal.runtime,
      preparation: plainPreparation,
      ...more,
    });
    provider.notifyPods((update) => {
      if (mortal.isDead) return;
      updates.push(update);
      this.#hear(update);
    });
    this.#program = { provider, mortal, updates };
    return this.#program;
  }

  /** Creates a pod as core does. */
  async create(pod: Pod): Promise<PodRef> {
    this.pods.set(pod.metadata?.uid ?? "", pod);
    await this.provider.createPod(pod, new FakeResolvedPod(), this.signal);
    return podRef(pod);
  }

  /** Changes a pod as core does. */
  async update(pod: Pod): Promise<void> {
    const held = this.pods.get(pod.metadata?.uid ?? "");
    const changed = { ...pod, status: held?.status };
    this.pods.set(pod.metadata?.uid ?? "", changed);
    await this.provider.updatePod(changed, new FakeResolvedPod(), this.signal);
  }

  /** Reports a new or changed secret or config map of the pod. */
  changeConfig(pod: PodRef): void {
    for (const listener of this.#onConfigChanged) listener(pod);
  }

  /** Number of listeners for {@link changeConfig}. */
  get configListeners(): number {
    return this.#onConfigChanged.size;
  }

  /** Does what core does for all pods at its start and at each resync. */
  async reconcile(): Promise<void> {
    const { provider } = this;
    const listed = await provider.getPods(this.signal);
    for (const { ref, status } of listed.pods) this.#hear({ ref, status });
    for (const pod of [...this.pods.values()]) {
      const ref = podRef(pod);
      const isListed = listed.pods.some((held) => held.ref.uid === ref.uid);
      if (pod.metadata?.deletionTimestamp) await this.#end(pod, isListed);
      else if (!isListed && !isTerminalPhase(pod.status?.phase)) await provider.createPod(pod, new FakeResolvedPod(), this.signal);
    }
    for (const { ref } of listed.pods) {
      if (!this.pods.has(ref.uid)) await provider.deletePod(ref, { gracePeriodSeconds: 0 }, this.signal).catch(ignoreNotFound);
    }
  }

  /** Deletes the pod at the API server. */
  markDeleted(uid: string, graceMs: number): void {
    const pod = this.pods.get(uid);
    if (!pod || pod.metadata?.deletionTimestamp) return;
    const deletionTimestamp = new Date(this.clock.now() + graceMs).toISOString();
    this.pods.set(uid, { ...pod, metadata: { ...pod.metadata, deletionTimestamp, deletionGracePeriodSeconds: graceMs / 1000 } });
  }

  status(uid: string): ProviderPodStatus {
    return this.pods.get(uid)?.status ?? {};
  }

  container(uid: string, name: string): DeepReadonly<ContainerStatus> | undefined {
    const { initContainerStatuses, containerStatuses } = this.status(uid);
    return [...(initContainerStatuses ?? []), ...(containerStatuses ?? [])].find((status) => status.name === name);
  }

  async #end(pod: Pod, isListed: boolean): Promise<void> {
    const { provider } = this;
    const ref = podRef(pod);
    const leftMs = Date.parse(pod.metadata?.deletionTimestamp ?? "") - this.clock.now();
    const gracePeriodSeconds = Math.max(0, Math.ceil(leftMs / 1000));
    if (isListed) await provider.deletePod(ref, { gracePeriodSeconds }, this.signal).catch(ignoreNotFound);
    else this.pods.delete(ref.uid);
  }

  #hear(update: PodUpdate): void {
    const pod = this.pods.get(update.ref.uid);
    if (!pod) return;
    const isDeleted = pod.metadata?.deletionTimestamp !== undefined;
    if ("gone" in update) {
      if (isDeleted) this.pods.delete(update.ref.uid);
      return;
    }
    this.pods.set(update.ref.uid, { ...pod, status: structuredClone(update.status) as Pod["status"] });
  }

  #host(mortal: MortalRuntime): ProviderHost {
    const refuse = (): Promise<never> => Promise.reject(new NotFoundError("the rig has none"));
    return {
      nodeName: "n",
      clusterId: "c",
      nodeAddress: "192.0.2.1",
      clusterDomain: "cluster.local",
      logger: silentLogger,
      metrics: { count() {}, gauge() {}, observe() {} },
      clock: this.clock,
      random: new SeededRandom(1),
      getSecret: refuse,
      getConfigMap: refuse,
      getServiceAccountToken: refuse,
      resolvePod: () => new FakeResolvedPod(),
      onConfigChanged: (listener) => {
        this.#onConfigChanged.add(listener);
        return { [Symbol.dispose]: () => void this.#onConfigChanged.delete(listener) };
      },
      findPod: ({ uid }) => this.pods.get(uid),
      recordEvent: (_ref, { reason, message }) => void (mortal.isDead || this.events.push(`${reason}: ${message}`)),
    };
  }
}

function ignoreNotFound(error: unknown): void {
  if (!isNotFound(error)) throw error;
}
