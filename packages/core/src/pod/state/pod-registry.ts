import { inTurns } from "@virtual-kubelet/async";
import type { Clock } from "@virtual-kubelet/clock";
import { messageOf } from "@virtual-kubelet/errdefs";
import {
  shareParts,
  type DeepReadonly,
  type Logger,
  type Metrics,
  type Pod,
  type Store,
  type StoreChange,
} from "@virtual-kubelet/kube-client";
import { podRef, type PodRef } from "../../provider/pod-ref.ts";
import { checkFits, checkReport } from "../../provider-calls/provider-output.ts";
import type { Owner, ProviderPod, ProviderPodList, ProviderPodStatus } from "../../provider/pod-lifecycle.ts";
import { activeDeadlineMs } from "./end-deadline.ts";
import { NodeUsage } from "../admission/node-usage.ts";
import type { EventTime, PodEvent } from "./pod-event.ts";
import { LeftOutValues } from "../status/left-out-values.ts";
import { isTerminalPhase } from "../status/pod-phase.ts";
import { mayChangeAction, nextAction, type PodAction } from "./next-action.ts";
import { lastGiven, mayBeHeld, newPodState, wasStarted, type PodState } from "./pod-state.ts";
import { step } from "./pod-step.ts";
import { withResourcesOf } from "../resize/resize.ts";
import { mayHaveStatus, showsAlike } from "../status/wanted-status.ts";

export interface PodRegistryOptions {
  /** The pods bound to this node. */
  readonly store: Store<Pod>;
  /** Tag of this node's pods at the back end. */
  readonly owner: Owner;
  /** Name in log messages about reports. */
  readonly providerName: string;
  /**
   * Called when another action may be due for a pod; never before the first inventory. Not called for events that only confirm the pod's
   * state: a failed call waits for its back-off, however often the provider reports.
   */
  readonly enqueue: (uid: string) => void;
  /** Called when a pod has to end sooner than before, which cancels its waits. */
  readonly onEnd: (uid: string) => void;
  /** Called when another status may be due for a pod. */
  readonly enqueueStatus: (uid: string) => void;
  /** Called when the provider has ended a pod on request while the API server still has it. */
  readonly onDeleted: (pod: DeepReadonly<Pod>) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/**
 * The states of the node's pods, by UID. It turns the news of three sources (the API server's store, the provider's reports, the
 * inventories) into events, applies {@link step} to each, and enqueues pods whose action or status may change. It makes no calls itself.
 */
export class PodRegistry {
  /** Resources of the node that admitted pods use. */
  readonly usage: NodeUsage = new NodeUsage();
  readonly #options: PodRegistryOptions;
  readonly #states = new Map<string, PodState>();
  /** Pods whose resize waits for room on the node. */
  readonly #deferred = new Set<string>();
  readonly #leftOut: LeftOutValues;
  /** The last report, of any pod, with which the next one is likely to have parts in common. */
  #lastReported: ProviderPodStatus | undefined;
  #inventoryLoaded = false;

  constructor(options: PodRegistryOptions) {
    this.#options = options;
    this.#leftOut = new LeftOutValues(options);
  }

  /** Number of known pods. */
  get size(): number {
    return this.#states.size;
  }

  get(uid: string): PodState | undefined {
    return this.#states.get(uid);
  }

  values(): IterableIterator<PodState> {
    return this.#states.values();
  }

  get time(): EventTime {
    const { clock } = this.#options;
    return { nowMs: clock.monotonic(), wallMs: clock.now() };
  }

  /** Number of pods that the back end may hold, that a relist did not contain, and whose absence the API server has not confirmed. */
  get missing(): number {
    let count = 0;
    for (const state of this.#states.values()) if (state.api === "missing" && mayBeHeld(state)) count++;
    return count;
  }

  /** Drops the state of a pod that is gone at the API server and at the back end. */
  forget(uid: string): void {
    this.#states.delete(uid);
    this.#deferred.delete(uid);
    this.#leftOut.forget(uid);
  }

  /** Milliseconds until the pod's active deadline; 0 if it passed during a call; `undefined` if it has none, or is ending anyway. */
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
   * Applies {@link step}, and enqueues the pod if another action follows from the new state.
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
    if (isDeferred(after)) this.#deferred.add(uid);
    else this.#deferred.delete(uid);
    const pod = store.get(uid);
    if (pod && changesUsage(event, before, after) && !isTerminalPhase(pod.status?.phase)) this.#count(pod);
    const action = this.#inventoryLoaded && news.has(event.kind) ? nextAction(pod, after, time) : undefined;
    const isDue = action !== undefined && isNews(nextAction(pod, before, time), action);
    // The status writer finishes a pod.
    const isToFinish = isDue && action.kind === "finish";
    if (isDue && !isToFinish) enqueue(uid);
    if (isToFinish || isStatusDue(event, before, after)) enqueueStatus(uid);
    if (pod && before.backend.kind === "ending" && after.backend.kind === "gone") onDeleted(pod);
    return after;
  }

  /**
   * Follows the store, beginning with its present objects, which are processed in turns of the event loop.
   *
   * @returns disposing of it stops that
   * @throws `signal.reason` when aborted
   */
  async follow(signal: AbortSignal): Promise<Disposable> {
    const { clock, store } = this.#options;
    const subscription = store.subscribe((change) => this.#onStoreChange(change));
    const uids = Array.from(store.list(), ({ metadata }) => metadata?.uid ?? "");
    try {
      await inTurns(uids, { clock, signal }, (uid) => {
        const pod = store.get(uid);
        if (pod) this.#onPod(pod, true);
      });
      return subscription;
    } catch (error) {
      subscription[Symbol.dispose]();
      throw error;
    }
  }

  /** Processes a report of the provider. A malformed report is logged and counted, and never throws into the provider. */
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
      if ("gone" in report) this.dispatch(ref.uid, { kind: "reportedGone", pod: this.#options.store.get(ref.uid) });
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

  /** Processes one pod of an inventory. A reference that fits no pod is reported and ignored. */
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
   * Processes an inventory: listed pods are present; the provider is asked again about a pod that is missing from a complete inventory
   * before the pod counts as gone. Pods are processed in turns of the event loop.
   *
   * @param startedMs - monotonic time of the request; pods with later news are not affected
   * @throws `signal.reason` when aborted
   */
  async onInventory(list: ProviderPodList, startedMs: number, signal: AbortSignal): Promise<void> {
    const { clock, enqueue } = this.#options;
    const listed = new Set<string>();
    await inTurns(list.pods, { clock, signal }, (entry) => {
      if (!this.#isOurs(entry)) return;
      listed.add(entry.ref.uid);
      this.#onListed(entry, startedMs);
    });
    if (list.complete) await this.#onUnlisted(listed, startedMs, signal);
    if (this.#inventoryLoaded) return;
    this.#inventoryLoaded = true;
    await inTurns(this.#states.keys(), { clock, signal }, (uid) => enqueue(uid));
  }

  /**
   * Processes an answer of the provider, which holds the pod with this status.
   *
   * @param startedMs - monotonic time at which it was asked; a report that came since is newer than the answer
   */
  onAnswer(ref: PodRef, status: ProviderPodStatus, startedMs: number): void {
    const state = this.#states.get(ref.uid);
    if (state && state.touchedMs <= startedMs) this.#onHeld(ref, status, true);
  }

  /** Processes a "not found" for the pod's status. The provider is asked again before the pod counts as gone. */
  onNoStatus({ uid }: PodRef, startedMs: number): void {
    const state = this.#states.get(uid);
    if (!state || state.call || state.touchedMs > startedMs) return;
    this.dispatch(uid, { kind: "unlisted", isFirst: false, neverStarted: false });
  }

  /**
   * Processes a "not found" for the pod itself, which counts as gone.
   *
   * @param startedMs - monotonic time at which it was asked; a report that came since is newer than the answer
   */
  onNotFound({ uid }: PodRef, startedMs: number): void {
    const state = this.#states.get(uid);
    if (state && state.touchedMs <= startedMs) this.dispatch(uid, { kind: "notFound", pod: this.#options.store.get(uid) });
  }

  /** @param status - the core's own copy, which nobody else has yet */
  #onHeld({ uid }: PodRef, status: ProviderPodStatus, asked: boolean): void {
    const pod = this.#options.store.get(uid);
    const before = this.#states.get(uid)?.reported;
    shareParts(status, before ?? pod?.status, this.#lastReported);
    this.#lastReported = status;
    const after = this.dispatch(uid, { kind: "held", status, asked, pod })?.reported;
    if (pod && after && after !== before) this.#leftOut.log(pod, after);
  }

  async #onUnlisted(listed: ReadonlySet<string>, startedMs: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const isFirst = !this.#inventoryLoaded;
    await inTurns(this.#states.keys(), { clock, signal }, (uid) => {
      const state = this.#states.get(uid);
      if (!state || listed.has(uid) || state.call || state.touchedMs > startedMs) return;
      const pod = this.#options.store.get(uid);
      this.dispatch(uid, { kind: "unlisted", isFirst, neverStarted: pod !== undefined && !wasStarted(pod), pod });
    });
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

  /** A relist did not contain the pod: it may be gone, or the list may be wrong. */
  #onMissing(uid: string): void {
    this.dispatch(uid, { kind: "missing" });
    // The question to the API server does not wait for anything the pod waited for, such as a provider that throttles its update.
    if (this.#inventoryLoaded && this.#states.has(uid)) this.#options.onEnd(uid);
  }

  /** The API server reported that the pod is gone. */
  onVanished(uid: string): void {
    this.#uncount(uid);
    const state = this.dispatch(uid, { kind: "vanished" });
    if (!state) return;
    if (!this.#endsNow(state)) state.call?.abort.abort(new Error("the pod was deleted"));
    this.#options.onEnd(uid);
  }

  /** @param mayAct - whether anything changed that can concern the provider */
  #onPod(pod: DeepReadonly<Pod>, mayAct: boolean): void {
    const { enqueue, owner } = this.#options;
    // A server that ignores the field selector shows other nodes' pods, which this node must not reject.
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
    if (endsSooner) this.#endSooner(state, before);
    else if (mayAct) enqueue(uid);
  }

  /** Aborts the pod's start or update, because it has to end; a deletion with less grace aborts the earlier one. */
  #endSooner({ ref, call, deletion }: PodState, before: PodState): void {
    if (call?.kind !== "delete" || before.deletion)
      call?.abort.abort(new Error(deletion ? "the pod is being deleted" : "the pod has ended"));
    this.#options.onEnd(ref.uid);
  }

  /** Counts the pod's resources as last passed to the provider, because a pending resize uses nothing. */
  #count(pod: DeepReadonly<Pod>): void {
    const state = this.#states.get(pod.metadata?.uid ?? "");
    if (this.usage.add(withResourcesOf(pod, state && lastGiven(state.backend)))) this.#retryResizes();
  }

  #uncount(uid: string): void {
    if (this.usage.remove(uid)) this.#retryResizes();
  }

  /** Retries resizes that wait for room on the node, because there is more room now. */
  #retryResizes(): void {
    for (const uid of this.#deferred) this.#options.enqueue(uid);
  }

  /** Whether the provider has ended the pod, or was told to end it without grace, so that it cannot end sooner. */
  #endsNow({ backend }: PodState): boolean {
    return backend.kind === "gone" || (backend.kind === "ending" && backend.deadlineMs <= this.#options.clock.monotonic());
  }

  #isOurs({ owner }: ProviderPod): boolean {
    const ours = this.#options.owner;
    return owner.clusterId === ours.clusterId && owner.nodeName === ours.nodeName;
  }
}

/** Events with causes outside of the action runner, which follows up its own: a failed call waits for its back-off. */
const news: ReadonlySet<PodEvent["kind"]> = new Set(["held", "reportedGone", "unlisted", "returned", "settled"]);

/** Whether another status may be due, or the API server's object has changed, with which each status is compared. */
function isStatusDue({ kind }: PodEvent, before: PodState, after: PodState): boolean {
  return kind === "bound" ? mayHaveStatus(after) : !showsAlike(before, after);
}

/** Whether the pod's resize waits for room on the node. */
function isDeferred({ resize }: PodState): boolean {
  return resize?.kind === "pending" && resize.reason === "Deferred";
}

/** Whether the event changes the resources that the pod uses: it was adopted, or the provider accepted or refused an update. */
function changesUsage({ kind }: PodEvent, before: PodState, after: PodState): boolean {
  if (kind === "held") return after.admitted && !before.admitted;
  return (kind === "returned" || kind === "refused") && before.call?.kind === "update";
}

/** Whether a changed action is reason to enqueue the pod. A pod in an unclear state is due anyway when its back-off ends. */
function isNews(before: PodAction, after: PodAction): boolean {
  if (after.kind === before.kind || after.kind === "nothing") return false;
  return !(before.kind === "inspect" && after.kind === "start");
}
