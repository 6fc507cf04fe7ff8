import {
  isDeadlineExceeded,
  isInvalidInput,
  isQuotaExceeded,
  isTerminal,
  isUnsupported,
  messageOf,
  terminalReasonOf,
  UnavailableError,
} from "@virtual-kubelet/errdefs";
import {
  defaultMaxRetryAfterMs,
  retryAfterMsOf,
  type DeepReadonly,
  type Metrics,
  type Pod,
  type Store,
  type Tracer,
  type WorkResult,
} from "@virtual-kubelet/kube-client";
import { waitingReasonOf } from "../../env/config-error.ts";
import type { PodOptions, RegisteredNode } from "../../virtual-node/options.ts";
import { GivenPods, unsupportedPolicy } from "../../unsupported/given-pods.ts";
import { isPodNotFound } from "../../provider-calls/not-found.ts";
import { podSpan } from "../../provider-calls/pod-span.ts";
import type { ProviderLimits } from "../../unsupported/provider-limits.ts";
import type { ResolvedPod } from "../../provider/resolved-pod.ts";
import { mountWaitingReason } from "../../volumes/mount-error.ts";
import { PodEvents, type PodEventsOptions } from "./pod-events.ts";
import { confirmAgainMs, PodQuestions, type PodQuestionsOptions } from "./pod-questions.ts";
import { TrackedCalls, type FailureKind } from "./tracked-calls.ts";
import { deadlineExceeded, lookAfterMs, overdueMs } from "../state/end-deadline.ts";
import { changedParts } from "../state/pod-changes.ts";
import type { EndTimes } from "../state/pod-event.ts";
import { nextAction, type PodAction } from "../state/next-action.ts";
import type { PodPresence } from "../../api-server/pod-presence.ts";
import {
  endsAlike,
  isDeafDeletion,
  isOperation,
  lastGiven,
  mayBeCreatedAgain,
  recreationDelayMs,
  runsStill,
  wasEverHeld,
  wasStarted,
  type PodState,
  type Verdict,
} from "../state/pod-state.ts";
import { rejectionLabel } from "../admission/rejection-label.ts";
import { decideResize, isToldOf } from "../resize/resize-decision.ts";
import { resizeEventMessage } from "../resize/resize.ts";
import { decideStart } from "../admission/start-decision.ts";

/** Delay before a pod with a missing secret or config map is retried. It is retried at once when the object appears. */
const missingRetryMs = 60_000;

/** Delay before a pod is looked at again while another instance may run the node. */
const notHeldRetryMs = 1_000;

/** Delay before a pod is retried whose objects could not be read, or whose token was not issued. */
const unreadableRetryMs = 10_000;

export interface PodActionRunnerOptions extends PodEventsOptions, PodQuestionsOptions {
  readonly store: Store<Pod>;
  readonly limits: ProviderLimits;
  readonly resolve: (pod: DeepReadonly<Pod>) => ResolvedPod;
  /** The registered node, for admission. */
  readonly node: () => RegisteredNode | undefined;
  readonly podOptions: PodOptions;
  /**
   * Whether this instance holds the node for certain. Otherwise another instance may run it, and pods are neither started nor changed nor
   * ended, because both would do it.
   */
  readonly isHeld: () => boolean;
  readonly enqueue: (uid: string) => void;
  readonly enqueueStatus: (uid: string) => void;
  /** Called after the state of a pod was dropped. */
  readonly onForgotten: (uid: string) => void;
  readonly metrics: Metrics;
  readonly tracer: Tracer;
}

/** Performs the next action for a pod: asks the provider, or has it start, change or end the pod, and judges the outcome. */
export class PodActionRunner {
  readonly #options: PodActionRunnerOptions;
  readonly #given: GivenPods;
  readonly #calls: TrackedCalls;
  readonly #events: PodEvents;
  readonly #questions: PodQuestions;

  constructor(options: PodActionRunnerOptions) {
    this.#options = options;
    this.#events = new PodEvents(options);
    this.#questions = new PodQuestions(options);
    this.#given = new GivenPods(options.limits, options.podOptions);
    this.#calls = new TrackedCalls({ ...options, onSlow: (...warning) => this.#events.warn(...warning) });
  }

  /** Decides and performs the next action. @throws an error that is reason to retry */
  async work(uid: string, signal: AbortSignal): Promise<WorkResult | void> {
    const { registry, tracer } = this.#options;
    const state = registry.get(uid);
    if (!state) return;
    const action = this.#nextAction(state);
    if (action.kind === "nothing") return;
    return tracer.span("pod.sync", { ...podSpan(state.ref), "vk.plan": action.kind }, () => this.#carryOut(action, state, signal));
  }

  /** Aborts the question in progress about a pod that has to end sooner than before, because its grace is running. */
  hasten(uid: string): void {
    this.#questions.hasten(uid);
  }

  /** Records the event of a pod that the provider has ended, not only begun to end. */
  tellDeleted(pod: DeepReadonly<Pod>): void {
    this.#events.normal(pod, "ProviderDeleteSuccess", "Delete pod in provider successfully");
  }

  #nextAction(state: PodState): PodAction {
    const { registry, store } = this.#options;
    return nextAction(store.get(state.ref.uid), state, registry.time);
  }

  async #carryOut(first: PodAction, before: PodState, signal: AbortSignal): Promise<WorkResult | void> {
    const { registry } = this.#options;
    const { uid } = before.ref;
    let action = first;
    let state = before;
    // The action after a question follows in the same run; otherwise each retry would begin with another question.
    try {
      if (action.kind === "inspect") {
        await this.#questions.inspect(state, signal);
        state = registry.get(uid) ?? state;
        action = this.#nextAction(state);
      }
      return await this.#do(action, state, signal);
    } catch (error) {
      this.#noteRetryAfter(action, state, error);
      throw error;
    }
  }

  /** Records the Retry-After of an error, unless the pod's end was decided meanwhile, which cancels the operation. */
  #noteRetryAfter({ kind }: PodAction, before: PodState, error: unknown): void {
    const { registry } = this.#options;
    const { uid } = before.ref;
    const askedMs = retryAfterMsOf(error);
    const after = registry.get(uid);
    if (askedMs === undefined || !isOperation(kind) || !after || !endsAlike(before, after)) return;
    registry.dispatch(uid, { kind: "throttled", operation: kind, ms: Math.min(askedMs, defaultMaxRetryAfterMs) });
  }

  async #do(action: PodAction, state: PodState, signal: AbortSignal): Promise<WorkResult | void> {
    const { registry, store } = this.#options;
    const { uid } = state.ref;
    const pod = store.get(uid);
    if (isOperation(action.kind) && !this.#options.isHeld()) return { requeueAfterMs: notHeldRetryMs };
    switch (action.kind) {
      case "nothing":
        return;
      case "wait":
        return { requeueAfterMs: action.ms };
      case "confirm":
        return this.#questions.confirmGone(state, signal);
      case "inspect":
        return { requeueAfterMs: isDeafDeletion(state) ? overdueMs : lookAfterMs };
      case "forget":
        registry.forget(uid);
        this.#options.onForgotten(uid);
        return;
      case "finish":
        this.#options.enqueueStatus(uid);
        return;
      case "expire":
        return pod && this.#expire(state, pod);
      case "delete":
        return this.#delete(state, pod, action, signal);
      case "start":
        return pod && (wasEverHeld(state, pod) ? this.#recreate(state, signal) : this.#start(state, pod, signal));
      case "update":
        return pod && this.#update(state, pod, signal);
      default:
        return action satisfies never;
    }
  }

  #expire(state: PodState, pod: DeepReadonly<Pod>): void {
    this.#judge(state, pod, deadlineExceeded);
    this.#options.enqueue(state.ref.uid);
  }

  async #start(state: PodState, pod: DeepReadonly<Pod>, signal: AbortSignal): Promise<WorkResult | void> {
    const { clock, node: nodeOf, limits, providerName, podOptions, registry } = this.#options;
    const node = nodeOf();
    if (!node) return { requeueAfterMs: 1_000 };
    const delayMs = recreationDelayMs(state, clock.monotonic());
    if (delayMs > 0) {
      const message = `Provider ${providerName} loses the pod again and again; it is created again after a while`;
      this.#judge(state, pod, { kind: "waiting", reason: "ProviderLost", message });
      return { requeueAfterMs: delayMs };
    }
    const admitted = state.admitted || wasStarted(pod);
    const given = this.#given.of(pod).pod;
    const decision = decideStart(pod, { node, usage: registry.usage, limits, providerName, podOptions, given, admitted });
    switch (decision.kind) {
      case "ignore":
        return;
      case "reject":
        this.#judge(state, pod, { kind: "rejected", reason: decision.reason, message: decision.message });
        return;
      case "wait":
        this.#judge(state, pod, { kind: "waiting", reason: decision.reason, message: decision.message });
        return;
      case "start":
        registry.usage.add(pod);
        registry.dispatch(state.ref.uid, { kind: "admitted" });
        return this.#create(state, pod, signal);
      default:
        return decision satisfies never;
    }
  }

  /**
   * Starts a pod that the back end no longer holds, if the API server still wants it: the back end may have ended it for a deletion that
   * the watch has not delivered yet.
   */
  async #recreate({ ref }: PodState, signal: AbortSignal): Promise<WorkResult | void> {
    const { enqueue, registry, store } = this.#options;
    let presence: PodPresence;
    try {
      presence = await this.#questions.presence(ref, signal);
    } catch (error) {
      signal.throwIfAborted();
      this.#showLost(ref.uid);
      throw error;
    }
    if (presence !== "wanted") return { requeueAfterMs: confirmAgainMs };
    const state = registry.get(ref.uid);
    const pod = store.get(ref.uid);
    if (!state || !pod || this.#nextAction(state).kind !== "start") return enqueue(ref.uid);
    if (!this.#isLost(state, pod)) return this.#start(state, pod, signal);
  }

  /** Shows a pod that waits for the API server's confirmation as waiting, because it no longer runs and must not stay Ready. */
  #showLost(uid: string): void {
    const { providerName, registry, store } = this.#options;
    const state = registry.get(uid);
    const pod = store.get(uid);
    if (!state || !pod || state.verdict || !mayBeCreatedAgain(pod, state.reported) || this.#nextAction(state).kind !== "start") return;
    const message = `Provider ${providerName} no longer holds the pod; it is created again once the API server confirms that it is still wanted`;
    this.#judge(state, pod, { kind: "waiting", reason: "ProviderLost", message });
  }

  /** Whether the back end lost a pod that must not be started again, which is then judged lost. */
  #isLost(state: PodState, pod: DeepReadonly<Pod>): boolean {
    const message = `Provider ${this.#options.providerName} no longer holds the pod`;
    if (!mayBeCreatedAgain(pod, state.reported)) {
      this.#judge(state, pod, { kind: "lost", reason: "ProviderLost", message });
      return true;
    }
    // A retry of the same start causes no second event.
    if (!state.verdict) this.#events.warn(pod, "ProviderLost", `${message}; it is created again`);
    return false;
  }

  async #create({ ref }: PodState, pod: DeepReadonly<Pod>, signal: AbortSignal): Promise<WorkResult | void> {
    const { calls, clock, metrics, resolve, registry } = this.#options;
    const startedMs = clock.monotonic();
    let failure: unknown;
    const given = this.#given.of(pod);
    let { paths: omitted } = given;
    const made = await this.#calls
      .call("start", ref.uid, { pod, signal, classify: classifyCreateError }, (inner) =>
        this.#given.tell(given, async (told) => {
          omitted = told.paths;
          await calls.createPod(told.pod, resolve(pod), ref, inner);
        }),
      )
      .then(
        () => true,
        (error: unknown) => {
          failure = error;
          return false;
        },
      );
    if (!made) {
      signal.throwIfAborted();
      return this.#onCreateError(ref.uid, pod, failure);
    }
    metrics.observe("kubelet_pod_worker_duration_seconds", (clock.monotonic() - startedMs) / 1000, { operation_type: "create" });
    metrics.count("kubelet_started_pods_total");
    this.#events.warnOmitted(pod, omitted);
    this.#events.normal(pod, "ProviderCreateSuccess", "Create pod in provider successfully");
    this.#events.warnBeyond(this.#options.limits, pod, given.pod, given.asked);
    // A pod that is gone during its creation counts as a failed creation, so that the retry backs off.
    if (registry.get(ref.uid)?.backend.kind === "unknown")
      throw new UnavailableError(
        `provider ${this.#options.providerName} reported pod ${ref.namespace}/${ref.name} gone while it was created`,
      );
  }

  #onCreateError(uid: string, pod: DeepReadonly<Pod>, error: unknown): WorkResult | void {
    const { metrics, enqueue, enqueueStatus, podOptions, registry, store } = this.#options;
    const state = registry.get(uid);
    if (!state || !store.get(uid) || state.deletion || state.teardown) {
      // The pod was deleted meanwhile, and the deletion covers whatever the call created.
      enqueue(uid);
      return;
    }
    metrics.count("kubelet_started_pods_errors_total");
    const message = messageOf(error);
    // A pod that the provider reported as running during the call continues, whatever another creation lacks.
    const configReason = state.reported && runsStill(state.reported) ? undefined : waitingReasonOf(error);
    if (configReason) {
      // As with a kubelet, containers that wait for volumes look like those being created; an event gave the reason.
      const isOrdinary = configReason === mountWaitingReason;
      const verdict: Verdict = { kind: "waiting", reason: configReason, message: isOrdinary ? "" : message };
      if (isOrdinary) registry.dispatch(uid, { kind: "judged", verdict, graceSeconds: 0 });
      else this.#judge(state, pod, verdict);
      enqueueStatus(uid);
      return this.#waitForConfig(uid, error);
    }
    if (isTerminal(error) || (isUnsupported(error) && unsupportedPolicy(podOptions.onUnsupported).default === "fail")) {
      const reason = isTerminal(error) ? (terminalReasonOf(error) ?? "ProviderFailed") : "ProviderUnsupported";
      this.#judge(state, pod, { kind: "rejected", reason, message });
      return;
    }
    if (isUnsupported(error)) {
      this.#judge(state, pod, { kind: "waiting", reason: "ProviderUnsupported", message });
      return;
    }
    const reason = isDeadlineExceeded(error) ? "ProviderTimeout" : "ProviderFailed";
    this.#events.warn(pod, "ProviderCreateFailed", message);
    // A pod that the provider reported during the call continues; the retry asks about it.
    if (!state.seen) registry.dispatch(uid, { kind: "judged", verdict: { kind: "waiting", reason, message }, graceSeconds: 0 });
    throw error;
  }

  async #update(state: PodState, desired: DeepReadonly<Pod>, signal: AbortSignal): Promise<WorkResult | void> {
    const pod = this.#fitResize(state, desired);
    if (!pod) return;
    const { ref, backend } = state;
    const { calls, enqueue, limits, resolve, registry, store } = this.#options;
    const applied = lastGiven(backend);
    const before = applied?.spec ? this.#given.ofStarted(applied) : undefined;
    const given = this.#given.ofStarted(pod);
    const changes = { previous: before?.pod, parts: changedParts(before?.pod ?? applied ?? {}, given.pod) };
    const classify = (error: unknown): FailureKind => {
      if (isPodNotFound(error)) return "doubted";
      if (waitingReasonOf(error)) return "failed";
      return isUnsupported(error) || isInvalidInput(error) || isTerminal(error) ? "refused" : "failed";
    };
    try {
      await this.#calls.call("update", ref.uid, { pod, signal, classify }, (inner) =>
        this.#given.tell(given, (told) => calls.updatePod(told.pod, resolve(pod), ref, inner, changes)),
      );
    } catch (error) {
      signal.throwIfAborted();
      if (classify(error) === "doubted") return enqueue(ref.uid);
      if (store.get(ref.uid) && !registry.get(ref.uid)?.deletion) this.#events.warn(pod, "ProviderUpdateFailed", messageOf(error));
      if (waitingReasonOf(error)) return this.#waitForConfig(ref.uid, error);
      if (classify(error) === "refused") return;
      throw error;
    }
    const omitted = before ? given.paths.filter((path) => !before.paths.includes(path)) : [];
    this.#events.warnOmitted(pod, omitted);
    const isBeyond = applied !== undefined && this.#events.warnBeyond(limits, pod, before?.asked ?? applied, given.asked);
    if (!isBeyond) this.#events.normal(pod, "ProviderUpdateSuccess", "Update pod in provider successfully");
  }

  /** @returns the pod to pass to the provider now; `undefined` if there is no update to pass */
  #fitResize(state: PodState, pod: DeepReadonly<Pod>): DeepReadonly<Pod> | undefined {
    const { limits, node, providerName, registry } = this.#options;
    const decision = decideResize(pod, state, { node: node(), usage: registry.usage, capabilities: limits.capabilities, providerName });
    if (decision.kind === "tell") {
      if (decision.reserves) registry.usage.raise(pod);
      return pod;
    }
    const { resize, given, isAll } = decision;
    registry.dispatch(state.ref.uid, { kind: "resizePending", resize, given: isAll ? given : undefined });
    if (!isToldOf(state.resize, resize))
      this.#events.warn(pod, `Resize${resize.reason}`, resizeEventMessage(pod, resize.reason, resize.message));
    return isAll ? undefined : given;
  }

  async #delete(
    state: PodState,
    pod: DeepReadonly<Pod> | undefined,
    action: Extract<PodAction, { kind: "delete" }>,
    signal: AbortSignal,
  ): Promise<void> {
    const { calls, clock, enqueue, registry } = this.#options;
    const { ref } = state;
    const { gracePeriodSeconds } = action;
    if (action.overdue && pod) {
      const message = `Pod still runs ${overdueMs / 1000} s after its grace period; it is ended at once`;
      this.#events.warn(pod, "ProviderDeleteFailed", message);
    }
    const nowMs = clock.monotonic();
    const deadlineMs = (state.deletion ?? state.teardown)?.deadlineMs ?? nowMs;
    const lookAtMs = action.overdue ? nowMs + overdueMs : Math.max(nowMs, deadlineMs) + lookAfterMs;
    const end: EndTimes = { deadlineMs: state.api === "gone" ? nowMs : deadlineMs, lookAtMs };
    try {
      await this.#calls.call(
        "delete",
        ref.uid,
        { pod, end, signal, classify: (error) => (isPodNotFound(error) ? "doubted" : "failed") },
        (inner) => calls.deletePod(ref, { gracePeriodSeconds }, inner),
      );
    } catch (error) {
      const after = registry.get(ref.uid);
      if (after?.backend.kind === "gone") return;
      // "Not found" ends a pod, so it counts only if the provider confirms it.
      if (isPodNotFound(error)) {
        await this.#questions.confirmNotFound(ref, error, signal);
        return enqueue(ref.uid);
      }
      signal.throwIfAborted();
      if (after?.deletion && after.deletion.deadlineMs < deadlineMs) return enqueue(ref.uid);
      if (pod) this.#events.warn(pod, "ProviderDeleteFailed", messageOf(error));
      throw error;
    }
    const after = registry.get(ref.uid);
    // The status writer finishes the pod.
    if (after && this.#nextAction(after).kind !== "finish") enqueue(ref.uid);
  }

  /** Retries the pod when an object that it refers to changes, and at the latest after the returned delay. */
  #waitForConfig(uid: string, error: unknown): WorkResult {
    this.#options.registry.dispatch(uid, { kind: "waitsForConfig" });
    return { requeueAfterMs: isInvalidInput(error) ? missingRetryMs : unreadableRetryMs };
  }

  /** Records a verdict, with one event for each new reason or message. */
  #judge({ ref, verdict: before }: PodState, pod: DeepReadonly<Pod>, verdict: Verdict): void {
    const { metrics, registry } = this.#options;
    const graceSeconds = pod.spec?.terminationGracePeriodSeconds ?? 30;
    registry.dispatch(ref.uid, { kind: "judged", verdict, graceSeconds });
    if (verdict.kind === "rejected" && before?.kind !== "rejected")
      metrics.count("kubelet_admission_rejections_total", { reason: rejectionLabel(verdict.reason) });
    if (before?.kind === verdict.kind && before.reason === verdict.reason && before.message === verdict.message) return;
    this.#events.judged(pod, verdict);
  }
}

function classifyCreateError(error: unknown): FailureKind {
  return waitingReasonOf(error) || isTerminal(error) || isUnsupported(error) || isInvalidInput(error) || isQuotaExceeded(error)
    ? "refused"
    : "failed";
}
