import {
  isDeadlineExceeded,
  isInvalidInput,
  isNotFound,
  isQuotaExceeded,
  isTerminal,
  isUnsupported,
  messageOf,
  terminalReasonOf,
} from "@virtual-kubelet/errdefs";
import type { Clock, DeepReadonly, EventRecorder, Metrics, Pod, Store, Tracer, WorkResult } from "@virtual-kubelet/kube-client";
import { waitingReasonOf } from "../env/pod-resolver.ts";
import { podRef } from "../provider/pod-ref.ts";
import { mountWaitingReason } from "../volumes/mount-error.ts";
import type { PodOptions, RegisteredNode } from "../options.ts";
import type { Capabilities } from "../provider/capabilities.ts";
import { podSpan } from "../provider/pod-span.ts";
import type { ProviderCalls } from "../provider/provider-calls.ts";
import type { ResolvedPod } from "../provider/resolved-pod.ts";
import { withoutServiceAccountVolume } from "../provider/service-account-volume.ts";
import { unsupportedChanges } from "../provider/unsupported-changes.ts";
import { listFields } from "../provider/unsupported.ts";
import { overdueMs, planPod, type PodPlan } from "./pod-plan.ts";
import { hasEnded, lastGiven, unclear, wasStarted, type PodRecord, type ProviderCall } from "./pod-record.ts";
import type { PodRecords } from "./pod-records.ts";
import { rejectionLabel } from "./rejection-label.ts";
import { decideStart } from "./start-gate.ts";
import { slowStartMs } from "./wanted-status.ts";

/** How soon a pod is tried again whose secret or config map is missing. When that comes, it is tried at once. */
const missingRetryMs = 60_000;

/** How soon one is tried again for which something could not be read, or a token not be had. */
const unreadableRetryMs = 10_000;

/** How long after a deletion's deadline the provider is asked, if it did not say by itself that the pod has ended. */
const lookAfterMs = 2_000;

/** What {@link PodWorker} needs. */
export interface PodWorkerDeps {
  readonly store: Store<Pod>;
  readonly records: PodRecords;
  readonly calls: ProviderCalls;
  readonly providerName: string;
  readonly capabilities: Capabilities;
  readonly resolve: (pod: DeepReadonly<Pod>) => ResolvedPod;
  /** The node as registered; admission is decided against it. */
  readonly node: () => RegisteredNode | undefined;
  readonly recorder: Pick<EventRecorder, "event">;
  readonly options: PodOptions;
  readonly onPlan: (uid: string) => void;
  readonly onStatus: (uid: string) => void;
  /** Called when nothing is left of a pod. */
  readonly onForgotten: (uid: string) => void;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly tracer: Tracer;
}

/** Does the next thing for a pod: asks the provider, has it start, change or end the pod, and judges how that went. */
export class PodWorker {
  readonly #deps: PodWorkerDeps;

  constructor(deps: PodWorkerDeps) {
    this.#deps = deps;
  }

  /** Looks at both sides of the pod and does the next thing. Whatever it throws is to be tried again. */
  async work(uid: string, signal: AbortSignal): Promise<WorkResult | void> {
    const record = this.#deps.records.get(uid);
    if (!record) return;
    const { clock, store, tracer } = this.#deps;
    const plan = planPod(store.get(uid), record, clock.monotonic());
    if (plan.kind === "nothing") return;
    return tracer.span("pod.sync", { ...podSpan(record.ref), "vk.plan": plan.kind }, () => this.#carryOut(plan, record, signal));
  }

  async #carryOut(first: PodPlan, record: PodRecord, signal: AbortSignal): Promise<WorkResult | void> {
    const { clock, store, records } = this.#deps;
    const { uid } = record.ref;
    let plan = first;
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
        records.forget(uid);
        this.#deps.onForgotten(uid);
        return;
      case "finish":
        this.#deps.onStatus(uid);
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
      const held = await this.#deps.calls.getPod(record.ref, signal);
      this.#deps.records.onHeld(record, held.status);
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

  async #start(record: PodRecord, pod: DeepReadonly<Pod>, signal: AbortSignal): Promise<WorkResult | void> {
    const { node: nodeOf, capabilities, providerName, options } = this.#deps;
    const node = nodeOf();
    if (!node) return { requeueAfterMs: 1_000 };
    if (this.#isLost(record, pod)) return;
    const admitted = record.admitted || wasStarted(pod);
    const decision = decideStart(pod, { node, usage: this.#deps.records.usage, capabilities, providerName, options, admitted });
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
        this.#deps.records.usage.add(pod);
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
    // A retry of the same start is not news.
    if (!record.verdict) this.#event(pod, "Warning", "ProviderLost", `${message}; it is created again`);
    return false;
  }

  async #create(record: PodRecord, pod: DeepReadonly<Pod>, signal: AbortSignal): Promise<WorkResult | void> {
    const { clock, metrics } = this.#deps;
    const startedMs = clock.monotonic();
    record.seen = false;
    record.reported = undefined;
    record.backend = { kind: "unknown" };
    record.unconfirmed ??= pod;
    using _slow = clock.setTimer(slowStartMs + 1, () => this.#deps.onStatus(record.ref.uid));
    try {
      await this.#call("start", record, signal, (inner) =>
        this.#deps.calls.createPod(this.#given(pod), this.#deps.resolve(pod), record.ref, inner),
      );
    } catch (error) {
      signal.throwIfAborted();
      return this.#onCreateError(record, pod, error);
    }
    metrics.observe("kubelet_pod_worker_duration_seconds", (clock.monotonic() - startedMs) / 1000, { operation_type: "create" });
    metrics.count("kubelet_started_pods_total");
    record.verdict = undefined;
    // It may have adopted what an earlier call made of an earlier spec.
    this.#deps.records.setBackend(record, { kind: "present", applied: record.unconfirmed, sinceMs: clock.monotonic() });
    record.unconfirmed = undefined;
    this.#event(pod, "Normal", "ProviderCreateSuccess", "Create pod in provider successfully");
  }

  #onCreateError(record: PodRecord, pod: DeepReadonly<Pod>, error: unknown): WorkResult | void {
    const { metrics, options } = this.#deps;
    if (!this.#deps.store.get(record.ref.uid) || record.deletion) {
      // Deleted meanwhile: what the call did is unknown, and is deleted with the rest.
      this.#deps.onPlan(record.ref.uid);
      return;
    }
    metrics.count("kubelet_started_pods_errors_total");
    const message = messageOf(error);
    const configReason = waitingReasonOf(error);
    if (configReason) {
      noteRefused(record, pod);
      // A kubelet shows containers that wait for their volumes like any that are made; an event has told why.
      const isOrdinary = configReason === mountWaitingReason;
      if (isOrdinary) record.verdict = { kind: "waiting", reason: configReason, message: "" };
      else this.#judge(record, pod, { kind: "waiting", reason: configReason, message });
      this.#deps.onStatus(record.ref.uid);
      return waitForConfig(record, error);
    }
    if (isTerminal(error) || (isUnsupported(error) && options.onUnsupported === "fail")) {
      noteRefused(record, pod);
      const reason = isTerminal(error) ? (terminalReasonOf(error) ?? "ProviderFailed") : "ProviderUnsupported";
      this.#judge(record, pod, { kind: "rejected", reason, message });
      return;
    }
    if (isUnsupported(error)) {
      noteRefused(record, pod);
      this.#judge(record, pod, { kind: "waiting", reason: "ProviderUnsupported", message });
      return;
    }
    if (isInvalidInput(error) || isQuotaExceeded(error)) noteRefused(record, pod);
    const reason = isDeadlineExceeded(error) ? "ProviderTimeout" : "ProviderFailed";
    this.#event(pod, "Warning", "ProviderCreateFailed", message);
    record.verdict = { kind: "waiting", reason, message };
    this.#deps.onStatus(record.ref.uid);
    throw error;
  }

  async #update(record: PodRecord, pod: DeepReadonly<Pod>, signal: AbortSignal): Promise<WorkResult | void> {
    const applied = lastGiven(record.backend);
    try {
      await this.#call("update", record, signal, (inner) =>
        this.#deps.calls.updatePod(this.#given(pod), this.#deps.resolve(pod), record.ref, inner),
      );
    } catch (error) {
      signal.throwIfAborted();
      if (isNotFound(error)) return this.#deps.records.setBackend(record, { kind: "absent" });
      if (this.#deps.store.get(record.ref.uid) && !record.deletion) this.#event(pod, "Warning", "ProviderUpdateFailed", messageOf(error));
      if (waitingReasonOf(error)) return waitForConfig(record, error);
      // What can never be applied is not tried again before the next change.
      if (isUnsupported(error) || isInvalidInput(error) || isTerminal(error)) return this.#noteApplied(record, pod);
      // It may have been carried out: also one who takes the change back has to be heard.
      if (record.backend.kind === "present") record.backend = { ...record.backend, applied: unclear(record.backend.applied) };
      throw error;
    }
    this.#noteApplied(record, pod);
    const { providerName, capabilities } = this.#deps;
    const unsupported = applied ? unsupportedChanges(applied, pod, capabilities) : [];
    if (unsupported.length === 0) this.#event(pod, "Normal", "ProviderUpdateSuccess", "Update pod in provider successfully");
    else this.#event(pod, "Warning", "ProviderUpdateFailed", `provider ${providerName} does not support ${listFields(unsupported)}`);
  }

  /** The provider was given the pod; what else was learned of it meanwhile stands. */
  #noteApplied(record: PodRecord, pod: DeepReadonly<Pod>): void {
    const { clock, onPlan, records } = this.#deps;
    if (record.backend.kind === "present") records.setBackend(record, { kind: "present", applied: pod, sinceMs: clock.monotonic() });
    else onPlan(record.ref.uid);
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
      this.#event(
        pod,
        "Warning",
        "ProviderDeleteFailed",
        `Pod still runs ${overdueMs / 1000} s after its grace period; it is ended at once`,
      );
    }
    const nowMs = clock.monotonic();
    const deadlineMs = record.deletion?.deadlineMs ?? nowMs;
    const lookAtMs = plan.overdue ? nowMs + overdueMs : Math.max(nowMs, deadlineMs) + lookAfterMs;
    // Set before the call: a provider may report the end from inside it.
    record.backend = { kind: "ending", deadlineMs, lookAtMs };
    try {
      await this.#call("delete", record, signal, (inner) => this.#deps.calls.deletePod(record.ref, { gracePeriodSeconds }, inner));
    } catch (error) {
      if (this.#isGone(record)) return;
      if (!isNotFound(error)) {
        record.backend = { kind: "unknown" };
        signal.throwIfAborted();
        if (record.deletion && record.deletion.deadlineMs < deadlineMs) return this.#deps.onPlan(record.ref.uid);
        if (pod) this.#event(pod, "Warning", "ProviderDeleteFailed", messageOf(error));
        throw error;
      }
      record.backend = { kind: "gone" };
    }
    // Without an API object nobody waits for the end: the provider has taken it on.
    const isOver = !this.#deps.store.get(record.ref.uid) || (record.reported !== undefined && hasEnded(record.reported));
    if (isOver) record.backend = { kind: "gone" };
    this.#deps.onPlan(record.ref.uid);
    if (pod && !plan.overdue) this.#event(pod, "Normal", "ProviderDeleteSuccess", "Delete pod in provider successfully");
  }

  /** The pod as the provider gets it. */
  #given(pod: DeepReadonly<Pod>): DeepReadonly<Pod> {
    return this.#deps.capabilities.volumes?.includes("projected") ? pod : withoutServiceAccountVolume(pod);
  }

  /** A call of its own, since a report may have arrived while another call was awaited. */
  #isGone(record: PodRecord): boolean {
    return record.backend.kind === "gone";
  }

  /** Makes a call that ends early when the pod is deleted. */
  async #call<T>(
    kind: ProviderCall["kind"],
    record: PodRecord,
    signal: AbortSignal,
    start: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const abort = new AbortController();
    record.waitsForConfig = false;
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
    if (verdict.kind === "rejected" && before?.kind !== "rejected")
      this.#deps.metrics.count("kubelet_admission_rejections_total", { reason: rejectionLabel(verdict.reason) });
    if (before?.kind !== verdict.kind || before.reason !== verdict.reason || before.message !== verdict.message) {
      this.#event(pod, "Warning", verdict.reason, verdict.message);
    }
    this.#deps.onStatus(record.ref.uid);
  }

  #event(pod: DeepReadonly<Pod>, type: "Normal" | "Warning", reason: string, message: string): void {
    const { namespace, name, uid } = podRef(pod);
    this.#deps.recorder.event({ apiVersion: "v1", kind: "Pod", namespace, name, uid }, type, reason, message);
  }
}

/** The pod is tried again when what it refers to has changed, and at the latest after this. */
function waitForConfig(record: PodRecord, error: unknown): WorkResult {
  record.waitsForConfig = true;
  return { requeueAfterMs: isInvalidInput(error) ? missingRetryMs : unreadableRetryMs };
}

/** Of this creation nothing is left at the back end; of an earlier one there may be. */
function noteRefused(record: PodRecord, pod: DeepReadonly<Pod>): void {
  record.backend = { kind: "absent" };
  if (record.unconfirmed === pod) record.unconfirmed = undefined;
}
