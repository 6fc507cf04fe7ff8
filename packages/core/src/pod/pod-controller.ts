import { Semaphore } from "@virtual-kubelet/async";
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
import type { PodOptions, RegisteredNode } from "../virtual-node/options.ts";
import type { ProviderLimits } from "../unsupported/provider-limits.ts";
import type { Owner, PodLifecycleHandler, PodNotifier, ProviderPodList } from "../provider/pod-lifecycle.ts";
import { ProviderCalls } from "../provider-calls/provider-calls.ts";
import type { ResolvedPod } from "../provider/resolved-pod.ts";
import type { MassLossBrake } from "./orphans/mass-loss-brake.ts";
import { PodStatusPoller } from "./inventory/pod-status-poller.ts";
import type { PodState } from "./state/pod-state.ts";
import { PodRegistry } from "./state/pod-registry.ts";
import { PodActionRunner } from "./actions/pod-action-runner.ts";
import type { CallPermits } from "./actions/tracked-calls.ts";
import { StatusWriter } from "./status/status-writer.ts";
import { wantedStatus } from "./status/wanted-status.ts";

/** Provider calls at once unless told otherwise, of those that start or change pods, and as many of those that end them. */
const defaultWorkers = 50;

/** Pods worked on at once; most of them wait for their turn to call the provider. */
const concurrency = 100_000;

/** Of a flood of pods the first are told to the API server before the last are looked at. */
const startsPerTurn = 50;

const defaultProviderTimeoutMs = 300_000;

/** How long the last statuses may take at the end. */
const flushMs = 2_000;

/** What {@link PodController} needs. */
export interface PodControllerOptions {
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
  readonly podOptions: PodOptions;
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
 * Every change on either side is taken in by {@link PodRegistry} and marks the pod's UID. A {@link PodActionRunner} then looks at
 * both sides, decides with `nextAction` and calls the provider; the {@link StatusWriter} does the
 * same for the status. No pod is worked on twice at once, and none is ever given up.
 */
export class PodController {
  /** The provider, called safely. */
  readonly calls: ProviderCalls;
  readonly #options: PodControllerOptions;
  readonly #queue: WorkQueue;
  readonly #registry: PodRegistry;
  readonly #permits: CallPermits;
  readonly #runner: PodActionRunner;
  readonly #statuses: StatusWriter;
  readonly #poller: PodStatusPoller;

  constructor(options: PodControllerOptions) {
    this.#options = options;
    const { client, clock, logger, metrics, podOptions, provider, random, store, tracer = noTracer } = options;
    const enqueue = (uid: string): void => this.#queue.add(uid);
    const enqueueStatus = (uid: string): void => this.#statuses.mark(uid);
    // A pod's next work may be another operation than the one that was asked to wait, so its state keeps that time.
    this.#queue = new WorkQueue({ name: "pods", clock, random, metrics, throttlesAdds: false });
    const onEnd = (uid: string): void => {
      this.#runner.hasten(uid);
      this.#queue.restart(uid);
    };
    this.#registry = new PodRegistry({ ...options, enqueue, enqueueStatus, onEnd, onDeleted: (pod) => this.#runner.tellDeleted(pod) });
    this.calls = new ProviderCalls({
      provider,
      clock,
      logger,
      metrics,
      tracer,
      timeoutMs: podOptions.providerTimeoutMs ?? defaultProviderTimeoutMs,
      redact: options.redact,
      onGivenUp: ({ uid }) => void this.#registry.dispatch(uid, { kind: "givenUp" }),
      onLateEnd: ({ uid }) => void this.#registry.dispatch(uid, { kind: "settled" }),
    });
    this.#poller = new PodStatusPoller({ store, registry: this.#registry, calls: this.calls, clock });
    const semaphore = (): Semaphore => new Semaphore(podOptions.workers ?? defaultWorkers);
    this.#permits = { start: semaphore(), end: semaphore(), ask: semaphore() };
    this.#runner = new PodActionRunner({
      ...options,
      tracer,
      registry: this.#registry,
      calls: this.calls,
      permits: this.#permits,
      isMassLoss: (missing) => options.brake.isSuspected(missing, `${missing} pods of this node are missing from the API server's list`),
      enqueue,
      enqueueStatus,
      onForgotten: (uid) => this.#statuses.forget(uid),
    });
    this.#statuses = new StatusWriter({
      client,
      store,
      state: (uid) => this.#registry.get(uid),
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
    return this.#registry.get(uid) !== undefined;
  }

  /** The status a pod should have by what is known now; `undefined` if there is nothing to say. */
  statusOf(pod: DeepReadonly<Pod>): PodStatus | undefined {
    const state = this.#registry.get(pod.metadata?.uid ?? "");
    return state && this.#wantedStatus(pod, state);
  }

  /** Pods anything is kept of. */
  get known(): number {
    return Math.max(this.#registry.size, this.#statuses.known);
  }

  /** Pods that wait for a worker or a write. */
  get pending(): number {
    return this.#queue.size + this.#permits.start.waiting + this.#permits.end.waiting + this.#statuses.pending;
  }

  /**
   * Starts to follow the store and the provider's reports. Nothing is done to any pod before {@link loadInventory}.
   *
   * @returns what stops it
   */
  follow(): Disposable {
    this.#options.provider.notifyPods?.((update) => this.#registry.onReport(update));
    return this.#registry.follow();
  }

  /**
   * Takes in an inventory of the provider.
   *
   * @param startedMs - monotonic time at which it was asked for
   */
  loadInventory(list: ProviderPodList, startedMs: number): void {
    this.#registry.onInventory(list, startedMs);
  }

  /** Asks the provider about single pods, once, because it does not answer for all of them. */
  askSingly(signal: AbortSignal): Promise<void> {
    return this.#poller.round(signal);
  }

  /** Works until aborted; then waits for the calls under way, which `hardSignal` ends, and for the last statuses. */
  async run(signal: AbortSignal, hardSignal: AbortSignal): Promise<void> {
    const { logger, metrics } = this.#options;
    using _starts = metrics.sampled?.("vk_provider_calls_waiting", () => this.#permits.start.waiting, { kind: "start" });
    using _ends = metrics.sampled?.("vk_provider_calls_waiting", () => this.#permits.end.waiting, { kind: "delete" });
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
    for (const { ref, verdict, resize, retryAfter } of [...this.#registry.values()]) {
      if (retryAfter) this.#registry.dispatch(ref.uid, { kind: "unthrottled" });
      if (retryAfter || verdict?.kind === "waiting" || (resize?.kind === "pending" && !resize.refused)) this.#queue.add(ref.uid);
    }
  }

  /** A secret or config map that the pod refers to has come, changed or gone: what waited for that is tried now. */
  configChanged(uid: string): void {
    const state = this.#registry.get(uid);
    if (state?.waitsForConfig || state?.call) this.#queue.add(uid);
  }

  async #work(uid: string, signal: AbortSignal): Promise<WorkResult | void> {
    using _expiry = this.#breakOffAtDeadline(uid);
    try {
      return await this.#runner.work(uid, signal);
    } finally {
      const expiresInMs = this.#registry.activeDeadlineMs(uid);
      if (expiresInMs !== undefined) this.#queue.addAfter(uid, expiresInMs);
    }
  }

  /** What hangs does not put off the end of a pod that has been active for as long as it may. */
  #breakOffAtDeadline(uid: string): Disposable | undefined {
    if (this.#registry.activeDeadlineMs(uid) === undefined) return undefined;
    let timer: Disposable | undefined;
    const look = (): void => {
      const leftMs = this.#registry.activeDeadlineMs(uid);
      if (leftMs === undefined) return;
      if (leftMs > 0) return void (timer = this.#options.clock.setTimer(leftMs, look));
      this.#runner.hasten(uid);
      this.#registry.get(uid)?.call?.abort.abort(new Error("the pod was active for longer than it may"));
    };
    look();
    return { [Symbol.dispose]: () => timer?.[Symbol.dispose]() };
  }

  #wantedStatus(pod: DeepReadonly<Pod>, state: PodState): PodStatus | undefined {
    const { clock, hostIPs } = this.#options;
    return wantedStatus(pod, state, { hostIPs: hostIPs(), nowMs: clock.now() }, clock.monotonic());
  }

  async #flushStatuses(hardSignal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const untilMs = clock.monotonic() + flushMs;
    while (this.#statuses.pending > 0 && !hardSignal.aborted && clock.monotonic() < untilMs) await clock.sleep(20);
  }
}
