import type { Clock } from "@virtual-kubelet/clock";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { DeepReadonly, Logger, Metrics, Pod, Store, StoreChange } from "@virtual-kubelet/kube-client";
import { podRef, type PodRef } from "../../provider/pod-ref.ts";
import { checkFits, checkReport } from "../../provider-calls/provider-output.ts";
import type { Owner, ProviderPod, ProviderPodList, ProviderPodStatus } from "../../provider/pod-lifecycle.ts";
import { activeDeadlineMs } from "./end-deadline.ts";
import { NodeUsage } from "../admission/node-usage.ts";
import type { EventTime, PodEvent } from "./pod-event.ts";
import { isTerminalPhase } from "../status/pod-phase.ts";
import { mayChangeAction, nextAction, type PodAction } from "./next-action.ts";
import { lastGiven, mayBeHeld, newPodState, wasStarted, type PodState } from "./pod-state.ts";
import { step } from "./pod-step.ts";
import { withResourcesOf } from "../resize/resize.ts";
import { showsAlike } from "../status/wanted-status.ts";

/** What {@link PodRegistry} needs. */
export interface PodRegistryOptions {
  /** The pods bound to this node. */
  readonly store: Store<Pod>;
  /** The tag of what is ours at the back end. */
  readonly owner: Owner;
  /** Named in what is logged of its reports. */
  readonly providerName: string;
  /**
   * Called when another action may be due for a pod; never before the first inventory. Not for what only confirms where a
   * pod stands: a call that failed waits for its time, however often the provider is heard.
   */
  readonly enqueue: (uid: string) => void;
  /** Called when a pod is to be ended sooner than was known: what it waited for no longer counts. */
  readonly onEnd: (uid: string) => void;
  /** Called when another status may be due for a pod. */
  readonly enqueueStatus: (uid: string) => void;
  /** Called when the provider has ended a pod that it was told to end, while the API server still has the pod. */
  readonly onDeleted: (pod: DeepReadonly<Pod>) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/**
 * The states of the node's pods. It turns what three sources say (the API server's store, the provider's reports, its
 * inventories) into events, takes each through {@link step}, and says which pods are to be looked at. It calls nobody.
 */
export class PodRegistry {
  /** What the admitted pods use of the node. */
  readonly usage: NodeUsage = new NodeUsage();
  readonly #options: PodRegistryOptions;
  readonly #states = new Map<string, PodState>();
  /** Pods whose resize waits for room on the node. */
  readonly #deferred = new Set<string>();
  #inventoryLoaded = false;

  constructor(options: PodRegistryOptions) {
    this.#options = options;
  }

  /** Pods anything is known of. */
  get size(): number {
    return this.#states.size;
  }

  get(uid: string): PodState | undefined {
    return this.#states.get(uid);
  }

  values(): IterableIterator<PodState> {
    return this.#states.values();
  }

  /** Now, on both clocks. */
  get time(): EventTime {
    const { clock } = this.#options;
    return { nowMs: clock.monotonic(), wallMs: clock.now() };
  }

  /** Pods that may be at the back end, that a relist did not have, and of which the API server has not yet said that they are gone. */
  get missing(): number {
    let count = 0;
    for (const state of this.#states.values()) if (state.api === "missing" && mayBeHeld(state)) count++;
    return count;
  }

  /** Nothing is left of the pod on either side. */
  forget(uid: string): void {
    this.#states.delete(uid);
    this.#deferred.delete(uid);
  }

  /** Milliseconds until the pod's active deadline; 0 if it passed during a call; `undefined` where it has none, or is ending anyway. */
  activeDeadlineMs(uid: string): number | undefined {
    const pod = this.#options.store.get(uid);
    const state = this.#states.get(uid);
    if (!pod || !state || state.deletion || state.teardown || isTerminalPhase(pod.status?.phase)) return undefined;
    const { time } = this;
    const leftMs = activeDeadlineMs(pod, state.firstSeenMs, time);
    if (leftMs === undefined || leftMs > 0) return leftMs;
    return nextAction(pod, state, time).kind === "expire" ? 0 : undefined;
  }

  /**
   * Takes an event through {@link step}, and has the pod looked at where another action follows from it.
   *
   * @returns the state afterwards; `undefined` if nothing is known of the pod
   */
  dispatch(uid: string, event: PodEvent): PodState | undefined {
    const before = this.#states.get(uid);
    if (!before) return undefined;
    const { store, enqueue, enqueueStatus, onDeleted } = this.#options;
    const { time } = this;
    const after = step(before, event, time);
    if (after === before) return after;
    this.#states.set(uid, after);
    if (after.resize?.kind === "pending" && after.resize.reason === "Deferred") this.#deferred.add(uid);
    else this.#deferred.delete(uid);
    const pod = store.get(uid);
    const isAdopted = event.kind === "held" && after.admitted && !before.admitted;
    if (pod && (isAdopted || isGiven(event, before)) && !isTerminalPhase(pod.status?.phase)) this.#count(pod);
    const action = this.#inventoryLoaded && news.has(event.kind) ? nextAction(pod, after, time) : undefined;
    const isDue = action !== undefined && isNews(nextAction(pod, before, time), action);
    // To finish a pod is to have its status looked at.
    const isToFinish = isDue && action.kind === "finish";
    if (isDue && !isToFinish) enqueue(uid);
    if (event.kind === "bound" || isToFinish || !showsAlike(before, after)) enqueueStatus(uid);
    if (pod && before.backend.kind === "ending" && after.backend.kind === "gone") onDeleted(pod);
    return after;
  }

  /** Follows the store, beginning with what it holds. @returns what stops it */
  follow(): Disposable {
    const { store } = this.#options;
    const subscription = store.subscribe((change) => this.#onStoreChange(change));
    for (const pod of store.list()) this.#onPod(pod, true);
    return subscription;
  }

  /** Takes in a report of the provider. One that is malformed is logged and counted, and never throws into the provider. */
  onReport(update: unknown): void {
    try {
      const report = checkReport(update);
      const { ref } = report;
      const state = this.#states.get(ref.uid);
      if (!state) {
        this.#options.metrics.count("vk_provider_unknown_pod_reports_total");
        return;
      }
      checkFits(state.ref, ref, "notifyPods");
      if ("gone" in report) this.dispatch(ref.uid, { kind: "reportedGone" });
      else this.#onHeld(ref, report.status, false);
    } catch (error) {
      this.#onMalformed(error);
    }
  }

  #onMalformed(error: unknown): void {
    const { logger, metrics, providerName } = this.#options;
    metrics.count("vk_provider_malformed_reports_total");
    logger.error({ provider: providerName, err: messageOf(error) }, "provider reported a malformed status");
  }

  /** Takes in one pod of an inventory. One whose reference fits no pod says nothing of how any pod goes. */
  #onListed({ ref, status }: ProviderPod, startedMs: number): void {
    const state = this.#states.get(ref.uid);
    if (!state || state.touchedMs > startedMs) return;
    try {
      checkFits(state.ref, ref, "getPods");
    } catch (error) {
      return this.#onMalformed(error);
    }
    this.#onHeld(ref, status, false);
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
      this.#onListed(entry, startedMs);
    }
    if (list.complete) this.#onUnlisted(listed, startedMs);
    if (this.#inventoryLoaded) return;
    this.#inventoryLoaded = true;
    for (const uid of this.#states.keys()) this.#options.enqueue(uid);
  }

  /**
   * The provider, asked about the pod, holds it and says this of it.
   *
   * @param startedMs - monotonic time at which it was asked; a report that came since is newer than the answer
   */
  onAnswer(ref: PodRef, status: ProviderPodStatus, startedMs: number): void {
    const state = this.#states.get(ref.uid);
    if (state && state.touchedMs <= startedMs) this.#onHeld(ref, status, true);
  }

  /** The provider, asked for the pod's status, holds no such pod. That is asked once more before anybody concludes that it is gone. */
  onNoStatus({ uid }: PodRef, startedMs: number): void {
    const state = this.#states.get(uid);
    if (!state || state.call || state.touchedMs > startedMs) return;
    this.dispatch(uid, { kind: "unlisted", isFirst: false, neverStarted: false });
  }

  /**
   * The provider, asked for the pod itself, holds none.
   *
   * @param startedMs - monotonic time at which it was asked; a report that came since is newer than the answer
   */
  onNotFound({ uid }: PodRef, startedMs: number): void {
    const state = this.#states.get(uid);
    if (state && state.touchedMs <= startedMs) this.dispatch(uid, { kind: "notFound" });
  }

  #onHeld({ uid }: PodRef, status: ProviderPodStatus, asked: boolean): void {
    this.dispatch(uid, { kind: "held", status, asked, pod: this.#options.store.get(uid) });
  }

  #onUnlisted(listed: ReadonlySet<string>, startedMs: number): void {
    const isFirst = !this.#inventoryLoaded;
    for (const [uid, state] of this.#states) {
      if (listed.has(uid) || state.call || state.touchedMs > startedMs) continue;
      const pod = this.#options.store.get(uid);
      this.dispatch(uid, { kind: "unlisted", isFirst, neverStarted: pod !== undefined && !wasStarted(pod), pod });
    }
  }

  #onStoreChange(change: StoreChange<Pod>): void {
    switch (change.type) {
      case "added":
        return this.#onPod(change.object, true);
      case "updated":
        return this.#onPod(change.object, mayChangeAction(change.previous, change.object));
      case "deleted":
        return change.missed ? this.#onMissing(change.uid) : this.onVanished(change.uid);
      default:
        change satisfies never;
    }
  }

  /** A relist did not have the pod: it may be gone, or the list may be wrong. */
  #onMissing(uid: string): void {
    this.dispatch(uid, { kind: "missing" });
    // The API server is asked about it whatever the pod waited for, such as a provider that has no time for a change of it.
    if (this.#inventoryLoaded && this.#states.has(uid)) this.#options.onEnd(uid);
  }

  /** The API server said that the pod is gone. */
  onVanished(uid: string): void {
    this.#uncount(uid);
    const state = this.dispatch(uid, { kind: "vanished" });
    if (!state) return;
    if (!this.#endsNow(state)) state.call?.abort.abort(new Error("the pod was deleted"));
    this.#options.onEnd(uid);
  }

  /** @param mayAct - whether anything changed that the provider may have to be told of */
  #onPod(pod: DeepReadonly<Pod>, mayAct: boolean): void {
    const { enqueue, onEnd, owner } = this.#options;
    // A server that does not heed the field selector shows other nodes' pods: they are not ours to refuse.
    if (pod.spec?.nodeName && pod.spec.nodeName !== owner.nodeName) return;
    const ref = podRef(pod);
    const { uid } = ref;
    const isNew = !this.#states.has(uid);
    const before = this.#states.get(uid) ?? newPodState(ref, this.time.nowMs);
    this.#states.set(uid, before);
    const state = this.dispatch(uid, {
      kind: "bound",
      pod,
      isNew,
      neverStarted: this.#inventoryLoaded && !wasStarted(pod),
    });
    if (isTerminalPhase(pod.status?.phase)) this.#uncount(uid);
    else if (mayAct && wasStarted(pod)) this.#count(pod);
    if (!this.#inventoryLoaded || !state) return;
    const endsSooner = state.deletion !== before.deletion || state.teardown !== before.teardown;
    // What starts or changes the pod is broken off when it is to end; a shorter grace breaks off the longer one.
    const isBrokenOff = endsSooner && (state.call?.kind !== "delete" || before.deletion !== undefined);
    if (isBrokenOff) state.call?.abort.abort(new Error(state.deletion ? "the pod is being deleted" : "the pod has ended"));
    if (endsSooner) onEnd(uid);
    else if (mayAct) enqueue(uid);
  }

  /** Counts what the pod uses of the node: what the provider was last given, because a resize that is pending uses nothing. */
  #count(pod: DeepReadonly<Pod>): void {
    const state = this.#states.get(pod.metadata?.uid ?? "");
    if (this.usage.add(withResourcesOf(pod, state && lastGiven(state.backend)))) this.#retryResizes();
  }

  #uncount(uid: string): void {
    if (this.usage.remove(uid)) this.#retryResizes();
  }

  /** There is more room on the node: resizes that wait for some are tried again. */
  #retryResizes(): void {
    for (const uid of this.#deferred) this.#options.enqueue(uid);
  }

  /** Whether the provider has ended the pod, or was told to without any grace: there is nothing to hasten. */
  #endsNow({ backend }: PodState): boolean {
    return backend.kind === "gone" || (backend.kind === "ending" && backend.deadlineMs <= this.#options.clock.monotonic());
  }

  #isOurs({ owner }: ProviderPod): boolean {
    const ours = this.#options.owner;
    return owner.clusterId === ours.clusterId && owner.nodeName === ours.nodeName;
  }
}

/** Events that others cause. What the worker does it follows up by itself: a call that failed waits for its time. */
const news: ReadonlySet<PodEvent["kind"]> = new Set(["held", "reportedGone", "unlisted", "returned", "settled"]);

/** Whether the provider took, or refused, an update. */
function isGiven({ kind }: PodEvent, { call }: PodState): boolean {
  return (kind === "returned" || kind === "refused") && call?.kind === "update";
}

/** Whether a pod is to be looked at because its action changed. One whose state is unclear is due anyway, when its time has come. */
function isNews(before: PodAction, after: PodAction): boolean {
  if (after.kind === before.kind || after.kind === "nothing") return false;
  return !(before.kind === "inspect" && after.kind === "start");
}
