import type { Clock, Random } from "@virtual-kubelet/clock";
import { isConflict, isInvalidInput, isNotFound, messageOf } from "@virtual-kubelet/errdefs";
import {
  isGoneObject,
  resources,
  WorkQueue,
  type ConcurrencyLimit,
  type DeepReadonly,
  type KeyInspection,
  type KubeClient,
  type Logger,
  type Metrics,
  type Pod,
  type PodStatus,
  type QueueInspection,
  type Store,
  type Tracer,
} from "@virtual-kubelet/kube-client";
import { AsyncLocalStorage } from "node:async_hooks";
import { toEpochMs } from "../../api-server/api-time.ts";
import { isSameJson } from "../../api-server/json-equality.ts";
import { isNewer } from "../../api-server/resource-version.ts";
import type { PodRef } from "../../provider/pod-ref.ts";
import { podSpan } from "../../provider-calls/pod-span.ts";
import { countContainers } from "./container-metrics.ts";
import { DroppedFields } from "./dropped-fields.ts";
import { isTerminalPhase } from "./pod-phase.ts";
import { isOver, type PodState } from "../state/pod-state.ts";
import { isOtherPod, podStatusPatch, type StatusPatch } from "./pod-status-patch.ts";
import { showsAlike } from "./wanted-status.ts";

/** Burst of patches of one pod; then one a second. A phase change and an end are never delayed. */
const burst = 10;
const refillMs = 1_000;

/** Delay before a status update is retried after the API server answered with a different pod, a newer one, or 404. */
const replacedRetryMs = 1_000;

/** Number of times that the last status of a deleted pod may be refused as invalid before the pod is removed without it. */
const maxRefusals = 3;

export interface StatusWriterOptions {
  readonly client: KubeClient;
  readonly store: Store<Pod>;
  /** Returns the state of a pod, if there is one. */
  readonly state: (uid: string) => PodState | undefined;
  /** Returns the wanted status; `undefined` if there is none yet. */
  readonly wanted: (pod: DeepReadonly<Pod>, state: PodState) => PodStatus | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly tracer: Tracer;
  /** Limits how many pods have their status written, or are removed, at once. */
  readonly limit: ConcurrencyLimit;
}

/** What a written status tells of, and the status. */
interface Told {
  readonly state: PodState;
  readonly spec: DeepReadonly<Pod>["spec"];
  readonly status: PodStatus;
}

/** The last write of a pod. */
interface Written {
  readonly body: StatusPatch | undefined;
  /** `undefined` if the pod was only read. The answer may also hold what others wrote meanwhile. */
  readonly told: Told | undefined;
  /** The pod as the server has it after the write; newer than the store's object until the watch catches up. */
  readonly pod: DeepReadonly<Pod>;
}

interface Budget {
  tokens: number;
  atMs: number;
}

/**
 * Keeps the status of the API server's pods up to date, and removes a deleted pod once its end is written.
 *
 * It compares with the server's object, not with its own last write, so a status that somebody else overwrote is
 * corrected. It writes only the status, and each write contains the pod's UID.
 */
export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #queue: WorkQueue;
  /** Pods that are enqueued at the end of this turn. */
  readonly #marked = new Set<string>();
  /** Bound to the context of the writer, because a write belongs to no trace of who marked a pod. */
  readonly #enqueueSoon = AsyncLocalStorage.bind(() => this.#enqueueMarked());
  readonly #written = new Map<string, Written>();
  readonly #removed = new Set<string>();
  /** Number of times that the API server refused a pod's status as invalid. */
  readonly #refusals = new Map<string, number>();
  readonly #budgets = new Map<string, Budget>();
  readonly #dropped = new DroppedFields();

  constructor(options: StatusWriterOptions) {
    this.#options = options;
    this.#queue = new WorkQueue({ name: "pod-status", clock: options.clock, random: options.random, metrics: options.metrics });
  }

  /**
   * Enqueues the pod after a change on either side, at the end of the event loop's turn: with a provider that answers at once, a pod's
   * deletion and its end are one change.
   */
  mark(uid: string): void {
    if (this.#marked.size === 0) this.#options.clock.setTimer(0, this.#enqueueSoon);
    this.#marked.add(uid);
  }

  #enqueueMarked(): void {
    for (const uid of this.#marked) this.#queue.add(uid);
    this.#marked.clear();
  }

  /** Retries all pending writes now, because the API server has recovered; it may be another one. */
  retryNow(): void {
    this.#dropped.forget();
    this.#queue.resetBackoff();
  }

  /** Drops the answers of the API server, because it was restored from a backup and no longer has what it answered, and writes that again. */
  forgetAnswers(): void {
    const uids = new Set([...this.#written.keys(), ...this.#removed]);
    this.#written.clear();
    this.#removed.clear();
    for (const uid of uids) this.mark(uid);
  }

  /** Drops the data of a pod that is gone. */
  forget(uid: string): void {
    this.#marked.delete(uid);
    this.#queue.forget(uid);
    this.#written.delete(uid);
    this.#removed.delete(uid);
    this.#refusals.delete(uid);
    this.#budgets.delete(uid);
  }

  /** Number of pods with stored data. */
  get known(): number {
    return Math.max(this.#written.size, this.#removed.size, this.#budgets.size, this.#refusals.size);
  }

  /** The writing of a pod's status; `undefined` when none is queued. */
  inspect(uid: string): KeyInspection | undefined {
    return this.#queue.inspect(uid);
  }

  /** State of the queue. */
  inspectQueue(): QueueInspection {
    return this.#queue.inspectAll();
  }

  /** Whether the API server has the wanted status, according to its last answer or the store. */
  isWritten(stored: DeepReadonly<Pod>, wanted: PodStatus): boolean {
    return podStatusPatch(this.#freshest(stored.metadata?.uid ?? "", stored), this.#dropped.strip(wanted)) === undefined;
  }

  /** Number of pods that are queued or being written. */
  get pending(): number {
    return this.#marked.size + this.#queue.size + this.#queue.working;
  }

  /** Writes until aborted. */
  run(signal: AbortSignal): Promise<void> {
    const { limit, logger } = this.#options;
    return this.#queue.run({ concurrency: limit, signal, logger, handler: (uid, inner) => this.#sync(uid, inner) });
  }

  async #sync(uid: string, signal: AbortSignal): Promise<{ requeueAfterMs?: number } | void> {
    const { store, state: stateOf, wanted: wantedOf } = this.#options;
    const stored = store.get(uid);
    const state = stateOf(uid);
    if (!stored || !state) return;
    if (this.#isEcho(uid, stored, state)) return void this.#written.delete(uid);
    const pod = this.#freshest(uid, stored);
    const wanted = this.#dropped.strip(wantedOf(pod, state));
    if (wanted) {
      const body = podStatusPatch(pod, wanted);
      // The store is up to date, so the last answer is not needed.
      if (!body && pod === stored) this.#written.delete(uid);
      if (body) {
        const outcome = await this.#write(state, pod, wanted, body, signal);
        if (outcome !== "written") return outcome;
      }
    }
    if (!this.#removed.has(uid) && mayRemove(pod, state, wanted)) await this.#remove(pod, state, signal);
  }

  /** Sends the patch. @returns `written`, or the queue's next step */
  async #write(
    state: PodState,
    pod: DeepReadonly<Pod>,
    wanted: PodStatus,
    body: StatusPatch,
    signal: AbortSignal,
  ): Promise<"written" | { requeueAfterMs: number }> {
    const { metrics, clock } = this.#options;
    const { uid } = state.ref;
    const last = this.#written.get(uid);
    const isUnchanged = last !== undefined && last.pod.metadata?.resourceVersion === pod.metadata?.resourceVersion;
    if (isUnchanged && JSON.stringify(last.body) === JSON.stringify(body)) {
      // The server accepted the patch and left the object unchanged, because it does not know a field or ignores the change.
      metrics.count("vk_status_patches_ignored_total");
      return "written";
    }
    const delayMs = wanted.phase === pod.status?.phase ? this.#spend(uid) : 0;
    if (delayMs > 0) return { requeueAfterMs: delayMs };
    const startedMs = clock.monotonic();
    try {
      const after = await this.#patch(state.ref, pod, { body, wanted }, signal);
      // An answer about another object says nothing of this pod, and must not lend its UID to the next patch.
      if (after.metadata?.uid === uid && this.#isKnown(uid)) {
        this.#written.set(uid, { body, told: { state, spec: pod.spec, status: wanted }, pod: after });
        this.#learnDropped(after, wanted);
      }
      metrics.observe("kubelet_pod_status_sync_duration_seconds", (clock.monotonic() - startedMs) / 1000);
      countContainers(metrics, pod.status, wanted);
      if (wanted.phase === "Running" && pod.status?.phase === "Pending") this.#measureStart(state, pod);
      return "written";
    } catch (error) {
      signal.throwIfAborted();
      return this.#afterError(state, error, () => mayRemove(pod, state, wanted), signal);
    }
  }

  /** Learns from the API server's answer to a write which fields it drops. */
  #learnDropped(after: DeepReadonly<Pod>, wanted: PodStatus): void {
    const fields = this.#dropped.learn(after, wanted);
    if (fields.length > 0)
      this.#options.logger.info({ fields }, "the API server drops fields of pods' statuses, because it is older or their feature is off");
  }

  /** Decides what follows a failed patch. @throws the error itself if the queue's back-off is to repeat the patch */
  async #afterError(
    state: PodState,
    error: unknown,
    isRemovable: () => boolean,
    signal: AbortSignal,
  ): Promise<"written" | { requeueAfterMs: number }> {
    // Another writer was faster, and the watch may be slow.
    if (isConflict(error)) return this.#reread(state, signal);
    // The pod is gone or was replaced, as the watch will show; otherwise the write is retried.
    if (isNotFound(error) || isOtherPod(error)) return { requeueAfterMs: replacedRetryMs };
    // A refused status must not keep a deleted pod that has ended forever.
    if (isInvalidInput(error) && this.#countRefusal(state.ref, error) >= maxRefusals && isRemovable()) return "written";
    throw error;
  }

  /** Logs that the API server refused a pod's status. @returns how often it has done so */
  #countRefusal({ namespace, name, uid }: PodRef, error: unknown): number {
    this.#options.logger.error({ pod: `${namespace}/${name}`, uid, err: messageOf(error) }, "the API server refuses the pod's status");
    const refusals = (this.#refusals.get(uid) ?? 0) + 1;
    this.#refusals.set(uid, refusals);
    return refusals;
  }

  /**
   * @returns the pod as the server has it after the patch. A patch bound to a version has a known result; any other may apply to a newer
   * object, so the server is asked for the whole object.
   */
  async #patch(
    ref: PodRef,
    pod: DeepReadonly<Pod>,
    { body, wanted }: { readonly body: StatusPatch; readonly wanted: PodStatus },
    signal: AbortSignal,
  ): Promise<DeepReadonly<Pod>> {
    const { client, tracer } = this.#options;
    const { namespace, name } = ref;
    const isBound = body.metadata.resourceVersion !== undefined;
    const answer = isBound ? "metadata" : "object";
    const answered = await tracer.span("status.patch", podSpan(ref), () =>
      client.patch(
        resources.pods,
        { namespace, name },
        { type: "strategic", body },
        { subresource: "status", answer, managedFields: "drop", signal },
      ),
    );
    return isBound ? { ...pod, metadata: answered.metadata, status: wanted } : answered;
  }

  /** Reads the server's pod for a write after a conflict. @returns the queue's next step */
  async #reread(state: PodState, signal: AbortSignal): Promise<{ requeueAfterMs: number }> {
    const { namespace, name, uid } = state.ref;
    const pod = await this.#options.client.get(resources.pods, { namespace, name }, { signal }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
    if (pod?.metadata?.uid === uid && this.#isKnown(uid)) this.#written.set(uid, { body: undefined, told: undefined, pod });
    return { requeueAfterMs: replacedRetryMs };
  }

  /** Measures the start of a pod that is shown as Running from now on. */
  #measureStart(state: PodState, pod: DeepReadonly<Pod>): void {
    const { clock, metrics } = this.#options;
    metrics.observe("kubelet_pod_start_duration_seconds", (clock.monotonic() - state.firstSeenMs) / 1000);
    const createdMs = toEpochMs(pod.metadata?.creationTimestamp);
    // The API server's clock may be ahead of ours.
    if (createdMs !== undefined) metrics.observe("kubelet_pod_start_total_duration_seconds", Math.max(0, clock.now() - createdMs) / 1000);
  }

  /** Removes the API server's object after its end was written, by UID. */
  async #remove(pod: DeepReadonly<Pod>, state: PodState, signal: AbortSignal): Promise<void> {
    const { client, metrics } = this.#options;
    try {
      await client.delete(resources.pods, state.ref, { gracePeriodSeconds: 0, preconditions: { uid: state.ref.uid } }, { signal });
      metrics.count("vk_pods_removed_total");
    } catch (error) {
      signal.throwIfAborted();
      if (!isGoneObject(error, resources.pods, state.ref.name)) throw error;
    }
    if (this.#isKnown(state.ref.uid)) this.#removed.add(state.ref.uid);
  }

  /** Whether the pod was not forgotten meanwhile, because the watch can be faster than the answer to a write. */
  #isKnown(uid: string): boolean {
    return this.#options.state(uid) !== undefined;
  }

  /** Returns the newer of the store's object and the answer to our last write. */
  #freshest(uid: string, stored: DeepReadonly<Pod>): DeepReadonly<Pod> {
    const written = this.#written.get(uid);
    if (!written) return stored;
    return isNewer(written.pod, stored) ? written.pod : stored;
  }

  /**
   * Whether the store's object is the one that our last write made, with no more than what was written, and nothing has happened since:
   * most events of the watch are such ones.
   */
  #isEcho(uid: string, stored: DeepReadonly<Pod>, state: PodState): boolean {
    const { told, pod } = this.#written.get(uid) ?? {};
    if (!told || stored.metadata?.resourceVersion !== pod?.metadata?.resourceVersion) return false;
    // After a removal that was accepted, nothing is left to do. Before, the pod may still have to be removed.
    const isAlike = stored.metadata?.deletionTimestamp ? this.#removed.has(uid) : showsAlike(told.state, state);
    // Another may have written between the version that was told of and this one.
    return isAlike && isSameJson(stored.status, told.status) && isSameJson(stored.spec, told.spec);
  }

  /** Takes a token. @returns milliseconds until there is one; 0 if one was taken */
  #spend(uid: string): number {
    const nowMs = this.#options.clock.monotonic();
    const budget = this.#budgets.get(uid) ?? { tokens: burst, atMs: nowMs };
    const tokens = Math.min(burst, budget.tokens + (nowMs - budget.atMs) / refillMs);
    const taken = tokens >= 1;
    this.#budgets.set(uid, { tokens: taken ? tokens - 1 : tokens, atMs: nowMs });
    return taken ? 0 : Math.ceil((1 - tokens) * refillMs);
  }
}

/** Whether the object of a deleted pod can be removed: the pod has ended, its end is written, and no finalizer is left. */
function mayRemove(pod: DeepReadonly<Pod>, state: PodState, wanted: PodStatus | undefined): boolean {
  if (!pod.metadata?.deletionTimestamp) return false;
  if (!isOver(state)) return false;
  if (!isTerminalPhase(wanted?.phase ?? pod.status?.phase)) return false;
  const waitsForFinalizers = pod.metadata.deletionGracePeriodSeconds === 0 && (pod.metadata.finalizers?.length ?? 0) > 0;
  return !waitsForFinalizers;
}
