import type { Clock, Random } from "@virtual-kubelet/clock";
import {
  noTracer,
  WorkQueue,
  type DeepReadonly,
  type EventRecorder,
  type KubeClient,
  type Logger,
  type Metrics,
  type Pod,
  type PodStatus,
  type Store,
  type Tracer,
  type WorkResult,
} from "@virtual-kubelet/kube-client";
import type { PodOptions, RegisteredNode } from "../options.ts";
import type { ProviderLimits } from "../provider/provider-limits.ts";
import type { Owner, PodLifecycleHandler, PodNotifier, ProviderPodList } from "../provider/provider.ts";
import { ProviderCalls } from "../provider/provider-calls.ts";
import type { ResolvedPod } from "../provider/resolved-pod.ts";
import { CallSlots } from "./call-slots.ts";
import type { MassLossBrake } from "./mass-loss-brake.ts";
import { PodByPod } from "./pod-by-pod.ts";
import type { PodState } from "./pod-state.ts";
import { PodStates } from "./pod-states.ts";
import { PodWorker } from "./pod-worker.ts";
import { StatusWriter } from "./status-writer.ts";
import { wantedStatus } from "./wanted-status.ts";

/** Provider calls at once unless told otherwise, of those that start or change pods, and as many of those that end them. */
const defaultWorkers = 50;

/** How long a call keeps others waiting. Those that take longer go on without counting, because they would stop all pods. */
const slotHoldMs = 5_000;

/** Pods worked on at once; most of them wait for their turn to call the provider. */
const concurrency = 100_000;

/** Of a flood of pods the first are told to the API server before the last are looked at. */
const startsPerTurn = 50;

const defaultProviderTimeoutMs = 300_000;

/** How long the last statuses may take at the end. */
const flushMs = 2_000;

/** What {@link PodController} needs. */
export interface PodControllerDeps {
  readonly client: KubeClient;
  /** The pods bound to this node. */
  readonly store: Store<Pod>;
  readonly provider: PodLifecycleHandler & Partial<PodNotifier>;
  readonly providerName: string;
  readonly limits: ProviderLimits;
  /** The tag of what is ours at the back end. */
  readonly owner: Owner;
  readonly resolve: (pod: DeepReadonly<Pod>) => ResolvedPod;
  /** Takes the pod's secrets out of what the provider throws, which is shown to all who may read the pod. */
  readonly redact?: ((uid: string, error: unknown) => unknown) | undefined;
  /** The node as registered; admission is decided against it. */
  readonly node: () => RegisteredNode | undefined;
  readonly hostIPs: () => readonly string[];
  readonly recorder: Pick<EventRecorder, "event">;
  readonly options: PodOptions;
  /** Stops the end of many pods that a relist did not have. */
  readonly brake: MassLossBrake;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Default: nothing is traced. */
  readonly tracer?: Tracer | undefined;
}

/**
 * Makes the provider run the pods bound to the node, and tells the API server how they go.
 *
 * Every change on either side is taken in by {@link PodStates} and marks the pod's UID. A {@link PodWorker} then looks at
 * both sides, decides with `planPod` and calls the provider; the {@link StatusWriter} does the
 * same for the status. No pod is worked on twice at once, and none is ever given up.
 */
export class PodController {
  /** The provider, called safely. */
  readonly calls: ProviderCalls;
  readonly #deps: PodControllerDeps;
  readonly #queue: WorkQueue;
  readonly #states: PodStates;
  readonly #slots: { readonly start: CallSlots; readonly end: CallSlots; readonly ask: CallSlots };
  readonly #worker: PodWorker;
  readonly #statuses: StatusWriter;
  readonly #podByPod: PodByPod;

  constructor(deps: PodControllerDeps) {
    this.#deps = deps;
    const { client, clock, logger, metrics, options, provider, random, store, tracer = noTracer } = deps;
    const onPlan = (uid: string): void => this.#queue.add(uid);
    const onStatus = (uid: string): void => this.#statuses.mark(uid);
    // A pod's next work may be another operation than the one that was asked to wait, so its state keeps that time.
    this.#queue = new WorkQueue({ name: "pods", clock, random, metrics, throttlesAdds: false });
    const onEnd = (uid: string): void => {
      this.#worker.hasten(uid);
      this.#queue.restart(uid);
    };
    this.#states = new PodStates({ ...deps, onPlan, onStatus, onEnd, onDeleted: (pod) => this.#worker.tellDeleted(pod) });
    this.calls = new ProviderCalls({
      provider,
      clock,
      logger,
      metrics,
      tracer,
      timeoutMs: options.providerTimeoutMs ?? defaultProviderTimeoutMs,
      redact: deps.redact,
      onGivenUp: ({ uid }) => void this.#states.dispatch(uid, { kind: "givenUp" }),
      onLateEnd: ({ uid }) => void this.#states.dispatch(uid, { kind: "settled" }),
    });
    this.#podByPod = new PodByPod({ store, states: this.#states, calls: this.calls, clock });
    this.#slots = this.#makeSlots();
    this.#worker = new PodWorker({
      ...deps,
      tracer,
      states: this.#states,
      calls: this.calls,
      slots: this.#slots,
      isMassLoss: (missing) => deps.brake.isSuspected(missing, `${missing} pods of this node are missing from the API server's list`),
      onPlan,
      onStatus,
      onForgotten: (uid) => this.#statuses.forget(uid),
    });
    this.#statuses = new StatusWriter({
      client,
      store,
      state: (uid) => this.#states.get(uid),
      wanted: (pod, state) => this.#wantedStatus(pod, state),
      clock,
      random,
      logger,
      metrics,
      tracer,
    });
  }

  /** Whether anything is known of a pod of that UID. */
  knows(uid: string): boolean {
    return this.#states.get(uid) !== undefined;
  }

  /** The status a pod should have by what is known now; `undefined` if there is nothing to say. */
  statusOf(pod: DeepReadonly<Pod>): PodStatus | undefined {
    const state = this.#states.get(pod.metadata?.uid ?? "");
    return state && this.#wantedStatus(pod, state);
  }

  /** Pods anything is kept of. */
  get known(): number {
    return Math.max(this.#states.size, this.#statuses.known);
  }

  /** Pods that wait for a worker or a write. */
  get pending(): number {
    return this.#queue.size + this.#slots.start.waiting + this.#slots.end.waiting + this.#statuses.pending;
  }

  /**
   * Starts to follow the store and the provider's reports. Nothing is done to any pod before {@link loadInventory}.
   *
   * @returns what stops it
   */
  follow(): Disposable {
    this.#deps.provider.notifyPods?.((update) => this.#states.onReport(update));
    return this.#states.follow();
  }

  /**
   * Takes in an inventory of the provider.
   *
   * @param startedMs - monotonic time at which it was asked for
   */
  loadInventory(list: ProviderPodList, startedMs: number): void {
    this.#states.onInventory(list, startedMs);
  }

  /** Asks the provider about single pods, once, because it does not answer for all of them. */
  askSingly(signal: AbortSignal): Promise<void> {
    return this.#podByPod.round(signal);
  }

  /** Works until aborted; then waits for the calls under way, which `hardSignal` ends, and for the last statuses. */
  async run(signal: AbortSignal, hardSignal: AbortSignal): Promise<void> {
    const { logger, metrics } = this.#deps;
    using _starts = metrics.sampled?.("vk_provider_calls_waiting", () => this.#slots.start.waiting, { kind: "start" });
    using _ends = metrics.sampled?.("vk_provider_calls_waiting", () => this.#slots.end.waiting, { kind: "delete" });
    const statusEnd = new AbortController();
    const statuses = this.#statuses.run(AbortSignal.any([statusEnd.signal, hardSignal]));
    try {
      await this.#queue.run({
        concurrency,
        startsPerTurn,
        signal,
        logger,
        // What is under way at the end may go on until the hard end.
        handler: (uid) => this.#work(uid, hardSignal),
      });
    } finally {
      await this.#flushStatuses(hardSignal);
      statusEnd.abort();
      await statuses;
    }
  }

  /** The back end or the API server is there again: whatever waits for a retry is tried now. */
  retryNow(): void {
    this.#queue.resetBackoff();
    this.#statuses.retryNow();
    for (const { ref, verdict, resize, retryAfter } of [...this.#states.values()]) {
      if (retryAfter) this.#states.dispatch(ref.uid, { kind: "unthrottled" });
      if (retryAfter || verdict?.kind === "waiting" || (resize?.kind === "pending" && !resize.refused)) this.#queue.add(ref.uid);
    }
  }

  /** A secret or config map that the pod refers to has come, changed or gone: what waited for that is tried now. */
  configChanged(uid: string): void {
    const state = this.#states.get(uid);
    if (state?.waitsForConfig || state?.call) this.#queue.add(uid);
  }

  async #work(uid: string, signal: AbortSignal): Promise<WorkResult | void> {
    using _expiry = this.#breakOffAtDeadline(uid);
    try {
      return await this.#worker.work(uid, signal);
    } finally {
      const expiresInMs = this.#states.activeDeadlineMs(uid);
      if (expiresInMs !== undefined) this.#queue.addAfter(uid, expiresInMs);
    }
  }

  /** What hangs does not put off the end of a pod that has been active for as long as it may. */
  #breakOffAtDeadline(uid: string): Disposable | undefined {
    if (this.#states.activeDeadlineMs(uid) === undefined) return undefined;
    let timer: Disposable | undefined;
    const look = (): void => {
      const leftMs = this.#states.activeDeadlineMs(uid);
      if (leftMs === undefined) return;
      if (leftMs > 0) return void (timer = this.#deps.clock.setTimer(leftMs, look));
      this.#worker.hasten(uid);
      this.#states.get(uid)?.call?.abort.abort(new Error("the pod was active for longer than it may"));
    };
    look();
    return { [Symbol.dispose]: () => timer?.[Symbol.dispose]() };
  }

  #makeSlots(): { readonly start: CallSlots; readonly end: CallSlots; readonly ask: CallSlots } {
    const { clock, options } = this.#deps;
    const slots = (): CallSlots => new CallSlots({ size: options.workers ?? defaultWorkers, holdMs: slotHoldMs, clock });
    return { start: slots(), end: slots(), ask: slots() };
  }

  #wantedStatus(pod: DeepReadonly<Pod>, state: PodState): PodStatus | undefined {
    const { clock, hostIPs } = this.#deps;
    return wantedStatus(pod, state, { hostIPs: hostIPs(), nowMs: clock.now() }, clock.monotonic());
  }

  async #flushStatuses(hardSignal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const untilMs = clock.monotonic() + flushMs;
    while (this.#statuses.pending > 0 && !hardSignal.aborted && clock.monotonic() < untilMs) await clock.sleep(20);
  }
}
