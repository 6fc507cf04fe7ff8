import {
  isDeadlineExceeded,
  isInvalidInput,
  isNotFound,
  isQuotaExceeded,
  isTerminal,
  isUnsupported,
  messageOf,
} from "@virtual-kubelet/errdefs";
import {
  WorkQueue,
  type Clock,
  type DeepReadonly,
  type EventRecorder,
  type KubeClient,
  type Logger,
  type Metrics,
  type Pod,
  type PodStatus,
  type Random,
  type Store,
  type StoreChange,
} from "@virtual-kubelet/kube-client";
import { NodeUsage } from "./admission.ts";
import type { Capabilities } from "../provider/capabilities.ts";
import { waitingReasonOf } from "../env/pod-resolver.ts";
import type { PodOptions, RegisteredNode } from "../options.ts";
import { deletionDeadline, needsReplan, overdueMs, planPod, type PodPlan } from "./pod-plan.ts";
import { isTerminalPhase } from "./pod-phase.ts";
import { hasEnded, newPodRecord, podRef, wasStarted, type Backend, type PodRecord, type ProviderCall } from "./pod-record.ts";
import { derivePodStatus, endedStatus, rejectedStatus, waitingStatus } from "./pod-status.ts";
import type { Owner, PodLifecycleHandler, PodNotifier, PodRef, PodUpdate, ProviderPod, ProviderPodList, ProviderPodStatus } from "../provider/provider.ts";
import { ProviderCalls } from "../provider/provider-calls.ts";
import { checkStatus } from "../provider/provider-output.ts";
import type { ResolvedPod } from "../provider/resolved-pod.ts";
import { decideStart } from "./start-gate.ts";
import { StatusWriter } from "./status-writer.ts";

/** How long a creation may take before the pod is shown as ContainerCreating: most are Running before. */
const slowCreateMs = 1_000;

/** How long after its creation a pod that was never seen at the back end may be missing there. */
const appearanceMs = 60_000;

/** How soon a pod whose secret or config map is missing is tried again. */
const configRetryMs = 10_000;

/** How long after a deletion's deadline the provider is asked, if it did not say by itself that the pod has ended. */
const lookAfterMs = 2_000;

/** What {@link PodController} needs. */
export interface PodControllerDeps {
  readonly client: KubeClient;
  /** The pods bound to this node. */
  readonly store: Store<Pod>;
  readonly provider: PodLifecycleHandler & Partial<PodNotifier>;
  readonly providerName: string;
  readonly capabilities: Capabilities;
  /** The tag of what is ours at the back end. */
  readonly owner: Owner;
  readonly resolve: (pod: DeepReadonly<Pod>) => ResolvedPod;
  /** The node as registered; admission is decided against it. */
  readonly node: () => RegisteredNode | undefined;
  readonly hostIPs: () => readonly string[];
  readonly recorder: Pick<EventRecorder, "event">;
  readonly options: PodOptions;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/**
 * Makes the provider run the pods bound to the node, and tells the API server how they go.
 *
 * Every change on either side marks the pod's UID. A worker then looks at both sides, decides with {@link planPod} and
 * calls the provider; the {@link StatusWriter} does the same for the status. No pod is worked on twice at once, and
 * none is ever given up.
 */
export class PodController {
  readonly #deps: PodControllerDeps;
  readonly #calls: ProviderCalls;
  readonly #queue: WorkQueue;
  readonly #statuses: StatusWriter;
  readonly #records = new Map<string, PodRecord>();
  readonly #usage = new NodeUsage();
  #inventoryLoaded = false;

  constructor(deps: PodControllerDeps) {
    this.#deps = deps;
    const { clock, random, logger, metrics } = deps;
    this.#calls = new ProviderCalls({
      provider: deps.provider,
      clock,
      logger,
      metrics,
      timeoutMs: deps.options.providerTimeoutMs ?? 300_000,
      onLateEnd: (ref) => this.#onLateEnd(ref),
    });
    this.#queue = new WorkQueue({ name: "pods", clock, random, metrics });
    this.#statuses = new StatusWriter({
      client: deps.client,
      store: deps.store,
      record: (uid) => this.#records.get(uid),
      wanted: (pod, record) => this.#wantedStatus(pod, record),
      clock,
      random,
      logger,
      metrics,
    });
  }

  /** The provider, called safely. */
  get calls(): ProviderCalls {
    return this.#calls;
  }

  /** Whether anything is known of a pod of that UID. */
  knows(uid: string): boolean {
    return this.#records.has(uid);
  }

  /** Pods that wait for a worker or a write. */
  get pending(): number {
    return this.#queue.size + this.#statuses.pending;
  }

  /**
   * Starts to follow the store and the provider's reports. Nothing is done to any pod before {@link loadInventory}.
   *
   * @returns what stops it
   */
  follow(): Disposable {
    const { store, provider } = this.#deps;
    provider.notifyPods?.((update) => this.#onReport(update));
    const subscription = store.subscribe((change) => this.#onStoreChange(change));
    for (const pod of store.list()) this.#onPod(pod, true);
    return subscription;
  }

  /**
   * Takes in an inventory: what it holds is there; what a complete one lacks is asked for once more before anybody
   * concludes that it is gone.
   *
   * @param startedMs - monotonic time at which it was asked for; it says nothing of pods touched later
   */
  loadInventory(list: ProviderPodList, startedMs: number): void {
    const listed = new Set<string>();
    for (const entry of list.pods) {
      if (!this.#isOurs(entry)) continue;
      listed.add(entry.ref.uid);
      const record = this.#records.get(entry.ref.uid);
      if (record && record.touchedMs <= startedMs) this.#onHeld(record, entry.status);
    }
    if (list.complete) this.#onMissing(listed, startedMs);
    if (this.#inventoryLoaded) return;
    this.#inventoryLoaded = true;
    for (const uid of this.#records.keys()) this.#queue.add(uid);
  }

  /** Works until aborted; then waits for the calls under way, which `hardSignal` ends. */
  async run(signal: AbortSignal, hardSignal: AbortSignal): Promise<void> {
    const { options, logger } = this.#deps;
    const statusEnd = new AbortController();
    const statuses = this.#statuses.run(AbortSignal.any([statusEnd.signal, hardSignal]));
    try {
      await this.#queue.run({
        concurrency: options.workers ?? 50,
        signal,
        logger,
        // What is under way at the end may go on until the hard end.
        handler: (uid) => this.#sync(uid, hardSignal),
      });
    } finally {
      await this.#flushStatuses(hardSignal);
      statusEnd.abort();
      await statuses;
    }
  }

  /** The back end is there again: whatever waits for a retry is tried now. */
  retryNow(): void {
    this.#queue.resetBackoff();
    for (const [uid, record] of this.#records) {
      if (record.verdict?.kind === "waiting") this.#queue.add(uid);
    }
  }

  async #flushStatuses(hardSignal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const untilMs = clock.monotonic() + 2_000;
    while (this.#statuses.pending > 0 && !hardSignal.aborted && clock.monotonic() < untilMs) await clock.sleep(20);
  }

  #onStoreChange(change: StoreChange<Pod>): void {
    switch (change.type) {
      case "added":
        return this.#onPod(change.object, true);
      case "updated":
        return this.#onPod(change.object, needsReplan(change.previous, change.object));
      case "deleted": {
        this.#usage.remove(change.uid);
        const record = this.#records.get(change.uid);
        if (!record) return;
        if (record.backend.kind !== "gone") record.call?.abort.abort(new Error("the pod was deleted"));
        this.#queue.add(change.uid);
        return;
      }
      default:
        change satisfies never;
    }
  }

  /** @param reconcile - whether anything changed that the provider may have to be told of */
  #onPod(pod: DeepReadonly<Pod>, reconcile: boolean): void {
    const { clock } = this.#deps;
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
    if (record.deletion !== before && (record.call?.kind !== "delete" || before)) record.call?.abort.abort(new Error("the pod is being deleted"));
    if (isTerminalPhase(pod.status?.phase)) this.#usage.remove(ref.uid);
    else if (reconcile && wasStarted(pod)) this.#usage.add(pod);
    if (reconcile && this.#inventoryLoaded) this.#queue.add(ref.uid);
    this.#statuses.mark(ref.uid);
  }

  #onReport(update: PodUpdate): void {
    const { logger, metrics } = this.#deps;
    const record = this.#records.get(update.ref.uid);
    if (!record) {
      metrics.count("vk_provider_unknown_pod_reports_total");
      return;
    }
    if ("gone" in update) return this.#onGone(record);
    try {
      this.#onHeld(record, checkStatus(update.status, "notifyPods"));
    } catch (error) {
      logger.error({ pod: nameOf(record.ref), uid: record.ref.uid, err: messageOf(error) }, "provider reported a malformed status");
    }
  }

  /** The back end holds the pod, and says this of it. */
  #onHeld(record: PodRecord, status: ProviderPodStatus): void {
    record.reported = status;
    record.seen = true;
    record.touchedMs = this.#deps.clock.monotonic();
    const { backend } = record;
    if (record.verdict?.kind === "waiting") record.verdict = undefined;
    if (backend.kind === "ending" && hasEnded(status)) this.#setBackend(record, { kind: "gone" });
    else if ((backend.kind === "unknown" || backend.kind === "absent") && !record.call) this.#adopt(record);
    this.#statuses.mark(record.ref.uid);
  }

  /** A back-end pod whose making was not seen: it is taken to run what the status says it was last told. */
  #adopt(record: PodRecord): void {
    const pod = this.#deps.store.get(record.ref.uid);
    record.admitted = true;
    if (!pod) return;
    this.#usage.add(pod);
    const observed = pod.status?.observedGeneration;
    const generation = pod.metadata?.generation;
    const isCurrent = observed === undefined || generation === undefined || observed >= generation;
    const applied = isCurrent ? pod : { ...pod, spec: undefined };
    this.#setBackend(record, { kind: "present", applied, sinceMs: this.#deps.clock.monotonic() });
  }

  /** The back end says that it no longer holds the pod. */
  #onGone(record: PodRecord): void {
    const { backend } = record;
    if (backend.kind === "gone" || backend.kind === "absent") return;
    this.#setBackend(record, backend.kind === "ending" || record.deletion ? { kind: "gone" } : { kind: "absent" });
  }

  #onMissing(listed: ReadonlySet<string>, startedMs: number): void {
    const { store, clock } = this.#deps;
    for (const [uid, record] of this.#records) {
      if (listed.has(uid) || record.call || record.touchedMs > startedMs) continue;
      const { backend } = record;
      const pod = store.get(uid);
      if (backend.kind === "ending") this.#setBackend(record, { kind: "gone" });
      else if (backend.kind === "unknown" && !(pod && wasStarted(pod))) this.#setBackend(record, { kind: "absent" });
      else if (backend.kind === "present" && (record.seen || clock.monotonic() - backend.sinceMs > appearanceMs)) {
        this.#setBackend(record, { kind: "unknown" });
      }
    }
  }

  #onLateEnd(ref: PodRef): void {
    const record = this.#records.get(ref.uid);
    if (!record || record.backend.kind === "gone") return;
    this.#setBackend(record, { kind: "unknown" });
  }

  #setBackend(record: PodRecord, backend: Backend): void {
    record.backend = backend;
    record.touchedMs = this.#deps.clock.monotonic();
    if (this.#inventoryLoaded) this.#queue.add(record.ref.uid);
    this.#statuses.mark(record.ref.uid);
  }

  #isOurs({ owner }: ProviderPod): boolean {
    const ours = this.#deps.owner;
    return owner.clusterId === ours.clusterId && owner.nodeName === ours.nodeName;
  }

  async #sync(uid: string, signal: AbortSignal): Promise<{ requeueAfterMs?: number } | void> {
    const record = this.#records.get(uid);
    if (!record) return;
    const { clock, store } = this.#deps;
    let plan = planPod(store.get(uid), record, clock.monotonic());
    // What was asked decides what is done in the same run: a retry must not begin anew by having asked first.
    if (plan.kind === "inspect") {
      await this.#inspect(record, signal);
      plan = planPod(store.get(uid), record, clock.monotonic());
    }
    const pod = store.get(uid);
    switch (plan.kind) {
      case "nothing":
        return;
      case "wait":
        return { requeueAfterMs: plan.ms };
      case "inspect":
        return { requeueAfterMs: lookAfterMs };
      case "forget":
        this.#records.delete(uid);
        this.#statuses.forget(uid);
        return;
      case "finish":
        this.#statuses.mark(uid);
        return;
      case "delete":
        return this.#delete(record, pod, plan, signal);
      case "start":
        return pod && this.#start(record, pod, signal);
      case "update":
        return pod && this.#update(record, pod, signal);
      default:
        return plan satisfies never;
    }
  }

  async #inspect(record: PodRecord, signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    try {
      const held = await this.#calls.getPod(record.ref, signal);
      this.#onHeld(record, held.status);
      if (record.backend.kind === "ending") {
        const { deadlineMs } = record.backend;
        record.backend = { kind: "ending", deadlineMs, lookAtMs: Math.max(clock.monotonic() + lookAfterMs, deadlineMs + overdueMs) };
      }
    } catch (error) {
      if (!isNotFound(error)) throw error;
      record.backend = record.backend.kind === "ending" ? { kind: "gone" } : { kind: "absent" };
      record.touchedMs = clock.monotonic();
    }
  }

  async #start(record: PodRecord, pod: DeepReadonly<Pod>, signal: AbortSignal): Promise<{ requeueAfterMs?: number } | void> {
    const { node: nodeOf, capabilities, providerName, options } = this.#deps;
    const node = nodeOf();
    if (!node) return { requeueAfterMs: 1_000 };
    if (this.#isLost(record, pod)) return;
    const admitted = record.admitted || wasStarted(pod);
    const decision = decideStart(pod, { node, usage: this.#usage, capabilities, providerName, options, admitted });
    switch (decision.kind) {
      case "ignore":
        return;
      case "reject":
        this.#judge(record, pod, { kind: "rejected", reason: decision.reason, message: decision.message });
        return;
      case "wait":
        this.#judge(record, pod, { kind: "waiting", reason: decision.reason, message: decision.message });
        return;
      case "start":
        record.admitted = true;
        this.#usage.add(pod);
        return this.#create(record, pod, signal);
      default:
        return decision satisfies never;
    }
  }

  /** Whether a started pod that the back end lost must not be started again; it is then judged lost. */
  #isLost(record: PodRecord, pod: DeepReadonly<Pod>): boolean {
    if (!record.seen && !wasStarted(pod)) return false;
    const message = `Provider ${this.#deps.providerName} no longer holds the pod`;
    if (pod.spec?.restartPolicy === "Never") {
      this.#judge(record, pod, { kind: "lost", reason: "ProviderLost", message });
      return true;
    }
    this.#event(pod, "Warning", "ProviderLost", `${message}; it is created again`);
    return false;
  }

  async #create(record: PodRecord, pod: DeepReadonly<Pod>, signal: AbortSignal): Promise<{ requeueAfterMs?: number } | void> {
    const { clock, metrics } = this.#deps;
    const startedMs = clock.monotonic();
    record.seen = false;
    record.reported = undefined;
    record.backend = { kind: "unknown" };
    using _slow = clock.setTimer(slowCreateMs + 1, () => this.#statuses.mark(record.ref.uid));
    try {
      await this.#call("start", record, signal, (inner) => this.#calls.createPod(pod, this.#deps.resolve(pod), record.ref, inner));
    } catch (error) {
      signal.throwIfAborted();
      return this.#onCreateError(record, pod, error);
    }
    metrics.observe("kubelet_pod_worker_duration_seconds", (clock.monotonic() - startedMs) / 1000, { operation_type: "create" });
    metrics.count("kubelet_started_pods_total");
    record.verdict = undefined;
    this.#setBackend(record, { kind: "present", applied: pod, sinceMs: clock.monotonic() });
    this.#event(pod, "Normal", "ProviderCreateSuccess", "Create pod in provider successfully");
  }

  #onCreateError(record: PodRecord, pod: DeepReadonly<Pod>, error: unknown): { requeueAfterMs?: number } | void {
    const { metrics, options } = this.#deps;
    if (!this.#deps.store.get(record.ref.uid) || record.deletion) {
      // Deleted meanwhile: what the call did is unknown, and is deleted with the rest.
      this.#queue.add(record.ref.uid);
      return;
    }
    metrics.count("kubelet_started_pods_errors_total");
    const message = messageOf(error);
    const configReason = waitingReasonOf(error);
    if (configReason) {
      record.backend = { kind: "absent" };
      this.#judge(record, pod, { kind: "waiting", reason: configReason, message });
      return { requeueAfterMs: configRetryMs };
    }
    if (isTerminal(error) || (isUnsupported(error) && options.onUnsupported === "fail")) {
      record.backend = { kind: "absent" };
      this.#judge(record, pod, { kind: "rejected", reason: isTerminal(error) ? "ProviderFailed" : "ProviderUnsupported", message });
      return;
    }
    if (isUnsupported(error)) {
      record.backend = { kind: "absent" };
      this.#judge(record, pod, { kind: "waiting", reason: "ProviderUnsupported", message });
      return;
    }
    if (isInvalidInput(error) || isQuotaExceeded(error)) record.backend = { kind: "absent" };
    const reason = isDeadlineExceeded(error) ? "ProviderTimeout" : "ProviderFailed";
    this.#event(pod, "Warning", "ProviderCreateFailed", message);
    record.verdict = { kind: "waiting", reason, message };
    this.#statuses.mark(record.ref.uid);
    throw error;
  }

  async #update(record: PodRecord, pod: DeepReadonly<Pod>, signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    try {
      await this.#call("update", record, signal, (inner) => this.#calls.updatePod(pod, this.#deps.resolve(pod), record.ref, inner));
    } catch (error) {
      signal.throwIfAborted();
      if (isNotFound(error)) return this.#setBackend(record, { kind: "absent" });
      if (this.#deps.store.get(record.ref.uid) && !record.deletion) this.#event(pod, "Warning", "ProviderUpdateFailed", messageOf(error));
      // What can never be applied is not tried again before the next change.
      if (!isUnsupported(error) && !isInvalidInput(error) && !isTerminal(error)) throw error;
      this.#setBackend(record, { kind: "present", applied: pod, sinceMs: clock.monotonic() });
      return;
    }
    this.#setBackend(record, { kind: "present", applied: pod, sinceMs: clock.monotonic() });
    this.#event(pod, "Normal", "ProviderUpdateSuccess", "Update pod in provider successfully");
  }

  async #delete(
    record: PodRecord,
    pod: DeepReadonly<Pod> | undefined,
    plan: Extract<PodPlan, { kind: "delete" }>,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock } = this.#deps;
    const { gracePeriodSeconds } = plan;
    if (plan.overdue && pod) {
      this.#event(pod, "Warning", "ProviderDeleteFailed", `Pod still runs ${overdueMs / 1000} s after its grace period; it is ended at once`);
    }
    const nowMs = clock.monotonic();
    const deadlineMs = record.deletion?.deadlineMs ?? nowMs;
    const lookAtMs = plan.overdue ? nowMs + overdueMs : Math.max(nowMs, deadlineMs) + lookAfterMs;
    // Set before the call: a provider may report the end from inside it.
    record.backend = { kind: "ending", deadlineMs, lookAtMs };
    try {
      await this.#call("delete", record, signal, (inner) => this.#calls.deletePod(record.ref, { gracePeriodSeconds }, inner));
    } catch (error) {
      if (this.#isGone(record)) return;
      if (!isNotFound(error)) {
        record.backend = { kind: "unknown" };
        signal.throwIfAborted();
        if (record.deletion && record.deletion.deadlineMs < deadlineMs) return this.#queue.add(record.ref.uid);
        if (pod) this.#event(pod, "Warning", "ProviderDeleteFailed", messageOf(error));
        throw error;
      }
      record.backend = { kind: "gone" };
    }
    // Without an API object nobody waits for the end: the provider has taken it on.
    const isOver = !this.#deps.store.get(record.ref.uid) || (record.reported !== undefined && hasEnded(record.reported));
    if (isOver) record.backend = { kind: "gone" };
    this.#queue.add(record.ref.uid);
    if (pod && !plan.overdue) this.#event(pod, "Normal", "ProviderDeleteSuccess", "Delete pod in provider successfully");
  }

  /** A call of its own, since a report may have arrived while another call was awaited. */
  #isGone(record: PodRecord): boolean {
    return record.backend.kind === "gone";
  }

  /** Makes a call that ends early when the pod is deleted. */
  async #call<T>(kind: ProviderCall["kind"], record: PodRecord, signal: AbortSignal, start: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const abort = new AbortController();
    record.call = { kind, abort, startedMs: this.#deps.clock.monotonic() };
    try {
      return await start(AbortSignal.any([signal, abort.signal]));
    } finally {
      record.call = undefined;
      record.touchedMs = this.#deps.clock.monotonic();
    }
  }

  /** Records what the core itself has to say of the pod, with one event for each new reason or message. */
  #judge(record: PodRecord, pod: DeepReadonly<Pod>, verdict: NonNullable<PodRecord["verdict"]>): void {
    const { verdict: before } = record;
    record.verdict = verdict;
    if (before?.kind !== verdict.kind || before.reason !== verdict.reason || before.message !== verdict.message) {
      this.#event(pod, "Warning", verdict.reason, verdict.message);
    }
    this.#statuses.mark(record.ref.uid);
  }

  #wantedStatus(pod: DeepReadonly<Pod>, record: PodRecord): PodStatus | undefined {
    const { clock } = this.#deps;
    const { verdict, backend, reported } = record;
    const context = { hostIPs: this.#deps.hostIPs(), nowMs: clock.now() };
    if (verdict?.kind === "rejected") return rejectedStatus(pod, { ...verdict, ...context });
    if (verdict?.kind === "lost") return endedStatus(pod, { ...verdict, ...context });
    const isOver = record.deletion !== undefined && (backend.kind === "gone" || backend.kind === "absent");
    if (isOver && !(reported && hasEnded(reported))) return endedStatus(pod, { ...context, reported });
    if (verdict) return waitingStatus(pod, { ...verdict, ...context });
    if (reported) return derivePodStatus({ pod, reported, ...context });
    const isSlow = record.call?.kind === "start" && clock.monotonic() - record.call.startedMs > slowCreateMs;
    return isSlow ? waitingStatus(pod, { reason: "ContainerCreating", message: "", ...context }) : undefined;
  }

  #event(pod: DeepReadonly<Pod>, type: "Normal" | "Warning", reason: string, message: string): void {
    const { namespace, name, uid } = podRef(pod);
    this.#deps.recorder.event({ apiVersion: "v1", kind: "Pod", namespace, name, uid }, type, reason, message);
  }
}

function nameOf({ namespace, name }: PodRef): string {
  return `${namespace}/${name}`;
}
