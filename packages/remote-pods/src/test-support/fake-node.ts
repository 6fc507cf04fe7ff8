import { SeededRandom, type VirtualClock } from "@virtual-kubelet/clock";
import {
  podRef,
  type DeepReadonly,
  type Pod,
  type PodRef,
  type PodUpdate,
  type ProviderHost,
  type ResolvedPod,
} from "@virtual-kubelet/core";
import { isNotFound } from "@virtual-kubelet/errdefs";
import { noMetrics, silentLogger } from "@virtual-kubelet/kube-client";
import { RemotePodProvider } from "../remote-pod-provider.ts";
import type { FakeBackend, FakeObject } from "./fake-backend.ts";

/** Interval at which the node compares its pods with the provider's. */
const syncMs = 30_000;

/** The part of a node's program that calls the provider: it creates, deletes and restarts, and remembers what was reported. */
export class FakeNode {
  readonly pods: Map<string, Pod> = new Map();
  /** Last report of each pod. */
  readonly reports: Map<string, PodUpdate> = new Map();
  /** Events of pods, with the time in monotonic milliseconds. */
  readonly events: { readonly atMs: number; readonly uid: string; readonly reason: string; readonly message: string }[] = [];
  /** Rules that the provider broke. */
  readonly violations: string[] = [];
  readonly #backend: FakeBackend;
  readonly #clock: VirtualClock;
  readonly #host: ProviderHost;
  readonly #busy = new Set<string>();
  #stop = new AbortController();
  #provider: RemotePodProvider<string, FakeObject> | undefined;
  #loop: Promise<void> | undefined;

  constructor(backend: FakeBackend, clock: VirtualClock, seed = 1) {
    this.#backend = backend;
    this.#clock = clock;
    this.#host = {
      nodeName: "node-1",
      clusterId: "cluster-1",
      nodeAddress: undefined,
      clusterDomain: "cluster.local",
      logger: silentLogger,
      metrics: noMetrics,
      clock,
      random: new SeededRandom(seed),
      getSecret: () => Promise.reject(new Error("not used")),
      getConfigMap: () => Promise.reject(new Error("not used")),
      getServiceAccountToken: () => Promise.reject(new Error("not used")),
      // The fake's translation reads no references.
      resolvePod: () => ({}) as ResolvedPod,
      findPod: ({ uid }) => this.pods.get(uid),
      recordEvent: ({ uid }, { reason, message }) => void this.events.push({ atMs: clock.monotonic(), uid, reason, message }),
    };
  }

  get provider(): RemotePodProvider<string, FakeObject> {
    if (!this.#provider) throw new Error("the node is not started");
    return this.#provider;
  }

  start(): void {
    this.#stop = new AbortController();
    this.#provider = new RemotePodProvider({ host: this.#host, backend: this.#backend });
    this.#provider.notifyPods((update) => this.#onUpdate(update));
    this.#loop = this.#syncs(this.#stop.signal);
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error("stopped"));
    const stopped = this.#provider?.[Symbol.asyncDispose]();
    await this.#clock.settle();
    await stopped;
    await this.#loop;
  }

  add(uid: string): PodRef {
    const pod: Pod = {
      metadata: { namespace: "default", name: `pod-${uid}`, uid },
      spec: { containers: [{ name: "main", image: "app" }] },
    };
    this.pods.set(uid, pod);
    void this.#sync(pod);
    return podRef(pod);
  }

  delete(uid: string): void {
    const pod = this.pods.get(uid);
    if (!pod) return;
    const deleted: Pod = { ...pod, metadata: { ...pod.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };
    this.pods.set(uid, deleted);
    void this.#sync(deleted);
  }

  #onUpdate(update: PodUpdate): void {
    const { uid } = update.ref;
    if (!uid.startsWith("uid-")) this.violations.push(`a report of ${uid}, which is not the node's`);
    this.reports.set(uid, update);
    const pod = this.pods.get(uid);
    if (!("gone" in update)) {
      if (pod) this.pods.set(uid, { ...pod, status: structuredClone(update.status) as NonNullable<Pod["status"]> });
      return;
    }
    const visible = this.#backend.liveOf(uid).filter(({ visibleMs }) => visibleMs <= this.#clock.monotonic());
    if (visible.length > 0 && this.#backend.limits.idempotency !== "none") this.violations.push(`${uid} is reported as gone and lives`);
    if (pod?.metadata?.deletionTimestamp !== undefined) this.pods.delete(uid);
    else if (pod) void this.#sync(pod);
  }

  async #syncs(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const { pods, complete } = await this.provider.getPods(signal);
        const there = new Set(pods.map(({ ref }) => ref.uid));
        for (const { ref } of pods) if (!this.pods.has(ref.uid)) void this.#deletePod(ref);
        for (const [uid, pod] of this.pods)
          if (pod.metadata?.deletionTimestamp !== undefined || (complete && !there.has(uid))) void this.#sync(pod);
      } catch {
        // The back end does not answer; the next attempt may succeed.
      }
      await this.#clock.sleep(syncMs, signal).catch(() => {});
    }
  }

  async #sync(pod: DeepReadonly<Pod>): Promise<void> {
    const ref = podRef(pod);
    if (pod.metadata?.deletionTimestamp !== undefined) return this.#deletePod(ref);
    // A pod that has ended is not created again.
    if (pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed") return;
    await this.#once(ref.uid, (signal) => this.provider.createPod(pod, {} as ResolvedPod, signal));
  }

  async #deletePod(ref: PodRef): Promise<void> {
    await this.#once(ref.uid, async (signal) => {
      try {
        await this.provider.deletePod(ref, { gracePeriodSeconds: 30 }, signal);
      } catch (error) {
        if (!isNotFound(error)) throw error;
        this.pods.delete(ref.uid);
      }
    });
  }

  /** Calls the provider, one call for a pod at a time; what fails is tried again at the next sync. */
  async #once(uid: string, call: (signal: AbortSignal) => Promise<void>): Promise<void> {
    if (this.#busy.has(uid) || this.#stop.signal.aborted) return;
    this.#busy.add(uid);
    await call(this.#stop.signal).catch(() => {});
    this.#busy.delete(uid);
  }
}
