import { messageOf } from "@virtual-kubelet/errdefs";
import type { Clock, DeepReadonly, Logger, Metrics, Pod, Store, StoreChange } from "@virtual-kubelet/kube-client";
import { podRef, type PodRef } from "../provider/pod-ref.ts";
import type { Owner, PodUpdate, ProviderPod, ProviderPodList, ProviderPodStatus } from "../provider/provider.ts";
import { checkStatus } from "../provider/provider-output.ts";
import { NodeUsage } from "./node-usage.ts";
import { isTerminalPhase } from "./pod-phase.ts";
import { deletionDeadline, needsReplan } from "./pod-plan.ts";
import { hasEnded, lastGiven, newPodRecord, unclear, wasStarted, type Backend, type PodRecord } from "./pod-record.ts";

/** How long after its creation a pod that was never seen at the back end may be missing there. */
const appearanceMs = 60_000;

/** What {@link PodRecords} needs. */
export interface PodRecordsDeps {
  /** The pods bound to this node. */
  readonly store: Store<Pod>;
  /** The tag of what is ours at the back end. */
  readonly owner: Owner;
  /**
   * Called when another plan may be due for a pod; never before the first inventory. Not for what only confirms where a
   * pod stands: a call that failed waits for its time, however often the provider is heard.
   */
  readonly onPlan: (uid: string) => void;
  /** Called when another status may be due for a pod. */
  readonly onStatus: (uid: string) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/**
 * All that is known of the node's pods, from three sources: the API server's store, the provider's reports and its
 * inventories. It draws the conclusions, and says which pods they concern; it calls nobody.
 */
export class PodRecords {
  /** What the admitted pods use of the node. */
  readonly usage: NodeUsage = new NodeUsage();
  readonly #deps: PodRecordsDeps;
  readonly #records = new Map<string, PodRecord>();
  #inventoryLoaded = false;

  constructor(deps: PodRecordsDeps) {
    this.#deps = deps;
  }

  /** Pods anything is known of. */
  get size(): number {
    return this.#records.size;
  }

  get(uid: string): PodRecord | undefined {
    return this.#records.get(uid);
  }

  values(): IterableIterator<PodRecord> {
    return this.#records.values();
  }

  /** Nothing is left of the pod on either side. */
  forget(uid: string): void {
    this.#records.delete(uid);
  }

  /** Follows the store, beginning with what it holds. @returns what stops it */
  follow(): Disposable {
    const { store } = this.#deps;
    const subscription = store.subscribe((change) => this.#onStoreChange(change));
    for (const pod of store.list()) this.#onPod(pod, true);
    return subscription;
  }

  /** Takes in a report of the provider. */
  onReport(update: PodUpdate): void {
    const { logger, metrics } = this.#deps;
    const record = this.#records.get(update.ref.uid);
    if (!record) {
      metrics.count("vk_provider_unknown_pod_reports_total");
      return;
    }
    if ("gone" in update) return this.#onGone(record);
    try {
      this.onHeld(record, checkStatus(update.status, "notifyPods"));
    } catch (error) {
      const { namespace, name, uid } = record.ref;
      logger.error({ pod: `${namespace}/${name}`, uid, err: messageOf(error) }, "provider reported a malformed status");
    }
  }

  /**
   * Takes in an inventory: what it holds is there; what a complete one lacks is asked for once more before anybody
   * concludes that it is gone.
   *
   * @param startedMs - monotonic time at which it was asked for; it says nothing of pods touched later
   */
  onInventory(list: ProviderPodList, startedMs: number): void {
    const listed = new Set<string>();
    for (const entry of list.pods) {
      if (!this.#isOurs(entry)) continue;
      listed.add(entry.ref.uid);
      const record = this.#records.get(entry.ref.uid);
      if (record && record.touchedMs <= startedMs) this.onHeld(record, entry.status);
    }
    if (list.complete) this.#onMissing(listed, startedMs);
    if (this.#inventoryLoaded) return;
    this.#inventoryLoaded = true;
    for (const uid of this.#records.keys()) this.#deps.onPlan(uid);
  }

  /** The back end holds the pod, and says this of it; the status is the core's own copy. */
  onHeld(record: PodRecord, status: ProviderPodStatus): void {
    record.reported = status;
    record.seen = true;
    record.touchedMs = this.#deps.clock.monotonic();
    const { backend } = record;
    if (record.verdict?.kind === "waiting") record.verdict = undefined;
    if (backend.kind === "ending" && hasEnded(status)) this.setBackend(record, { kind: "gone" });
    else if ((backend.kind === "unknown" || backend.kind === "absent") && !record.call) this.#adopt(record);
    this.#deps.onStatus(record.ref.uid);
  }

  /** A call that had been given up on has ended after all: what it did must be looked at. */
  onLateEnd(ref: PodRef): void {
    const record = this.#records.get(ref.uid);
    if (!record || record.backend.kind === "gone") return;
    const applied = lastGiven(record.backend);
    this.setBackend(record, { kind: "unknown", applied: applied && unclear(applied) });
  }

  /** Notes where the pod stands at the back end, and has it looked at. */
  setBackend(record: PodRecord, backend: Backend): void {
    this.#learn(record, backend);
    if (this.#inventoryLoaded) this.#deps.onPlan(record.ref.uid);
  }

  /** Notes where a pod of unclear state stands. Its state is unclear only while work on it is due or under way. */
  #learn(record: PodRecord, backend: Backend): void {
    record.backend = backend;
    record.touchedMs = this.#deps.clock.monotonic();
    this.#deps.onStatus(record.ref.uid);
  }

  #onStoreChange(change: StoreChange<Pod>): void {
    switch (change.type) {
      case "added":
        return this.#onPod(change.object, true);
      case "updated":
        return this.#onPod(change.object, needsReplan(change.previous, change.object));
      case "deleted": {
        this.usage.remove(change.uid);
        const record = this.#records.get(change.uid);
        if (!record) return;
        if (!this.#endsNow(record)) record.call?.abort.abort(new Error("the pod was deleted"));
        this.#deps.onPlan(change.uid);
        return;
      }
      default:
        change satisfies never;
    }
  }

  /** @param replan - whether anything changed that the provider may have to be told of */
  #onPod(pod: DeepReadonly<Pod>, replan: boolean): void {
    const { clock, onPlan, onStatus } = this.#deps;
    const ref = podRef(pod);
    const nowMs = clock.monotonic();
    const known = this.#records.get(ref.uid);
    const record = known ?? newPodRecord(ref, nowMs);
    if (!known) {
      // A new pod that was never started cannot be at the back end.
      if (this.#inventoryLoaded && !wasStarted(pod)) record.backend = { kind: "absent" };
      this.#records.set(ref.uid, record);
    }
    const before = record.deletion;
    record.deletion = deletionDeadline(pod, before, known !== undefined, { nowMs, wallMs: clock.now() });
    // A deletion breaks off what starts or changes the pod; a shorter one breaks off the longer one.
    const isBrokenOff = record.deletion !== before && (record.call?.kind !== "delete" || before !== undefined);
    if (isBrokenOff) record.call?.abort.abort(new Error("the pod is being deleted"));
    if (isTerminalPhase(pod.status?.phase)) this.usage.remove(ref.uid);
    else if (replan && wasStarted(pod)) this.usage.add(pod);
    if (replan && this.#inventoryLoaded) onPlan(ref.uid);
    onStatus(ref.uid);
  }

  /** Whether the provider has ended the pod, or was told to without any grace: there is nothing to hasten. */
  #endsNow({ backend }: PodRecord): boolean {
    return backend.kind === "gone" || (backend.kind === "ending" && backend.deadlineMs <= this.#deps.clock.monotonic());
  }

  /**
   * A back-end pod whose making was not seen, or which was lost sight of: it is taken to run what it was last given, or
   * may first have been given, or else what the status says.
   */
  #adopt(record: PodRecord): void {
    const pod = this.#deps.store.get(record.ref.uid);
    record.admitted = true;
    if (!pod) return;
    this.usage.add(pod);
    const applied = lastGiven(record.backend) ?? record.unconfirmed ?? lastTold(pod);
    record.unconfirmed = undefined;
    this.#learn(record, { kind: "present", applied, sinceMs: this.#deps.clock.monotonic() });
  }

  /** The back end says that it no longer holds the pod. */
  #onGone(record: PodRecord): void {
    const { backend } = record;
    if (backend.kind === "gone" || backend.kind === "absent") return;
    this.setBackend(record, backend.kind === "ending" || record.deletion ? { kind: "gone" } : { kind: "absent" });
  }

  #onMissing(listed: ReadonlySet<string>, startedMs: number): void {
    const { store, clock } = this.#deps;
    const nowMs = clock.monotonic();
    // Later the state of a pod is unknown only where a call had no clear outcome, which a list may be too old to tell.
    const isUntouched = !this.#inventoryLoaded;
    for (const [uid, record] of this.#records) {
      if (listed.has(uid) || record.call || record.touchedMs > startedMs) continue;
      const { backend } = record;
      const pod = store.get(uid);
      if (backend.kind === "ending") this.setBackend(record, { ...backend, lookAtMs: nowMs });
      else if (isUntouched && backend.kind === "unknown" && !record.deletion && pod && !wasStarted(pod))
        this.#learn(record, { kind: "absent" });
      else if (backend.kind === "present" && (record.seen || nowMs - backend.sinceMs > appearanceMs))
        this.setBackend(record, { kind: "unknown", applied: backend.applied });
    }
  }

  #isOurs({ owner }: ProviderPod): boolean {
    const ours = this.#deps.owner;
    return owner.clusterId === ours.clusterId && owner.nodeName === ours.nodeName;
  }
}

/** The pod as the provider was last told of it, by its status; without a spec where that is not known. */
function lastTold(pod: DeepReadonly<Pod>): DeepReadonly<Pod> {
  const { generation } = pod.metadata ?? {};
  // Before its first status a pod can have been given to the provider as it was created, at most.
  const observed = pod.status?.observedGeneration ?? 1;
  return generation === undefined || observed >= generation
    ? pod
    : unclear({ ...pod, metadata: { ...pod.metadata, generation: observed } });
}
