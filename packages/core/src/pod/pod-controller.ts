import { Semaphore } from "@virtual-kubelet/async";
import type { Clock, Random } from "@virtual-kubelet/clock";
import {
  noTracer,
  WorkQueue,
  type ConcurrencyLimit,
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
import type { PodsInspection } from "../inspection/node-inspection.ts";
import { inspectPod } from "../inspection/pod-inspection.ts";
import { selectPods, type PodQuery } from "../inspection/pod-list.ts";
import type { PodParts } from "../inspection/pod-parts.ts";
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

/** Default number of concurrent provider calls that start or change pods, and of those that end pods. */
const defaultWorkers = 50;

/** Maximum number of pods processed at once; most of them wait for a permit to call the provider. */
const concurrency = 100_000;

/** In a flood of pods the first statuses are written before the last pods are started. */
const startsPerTurn = 50;

const defaultProviderTimeoutMs = 300_000;

/** Time limit for the last status writes at the end. */
const flushMs = 2_000;

export interface PodControllerOptions {
  readonly client: KubeClient;
  /** The pods bound to this node. */
  readonly store: Store<Pod>;
  /** Whether the store follows the API server now; see `Reflector.isCurrent`. */
  readonly isCurrent: () => boolean;
  readonly provider: PodLifecycleHandler & Partial<PodNotifier>;
  readonly providerName: string;
  readonly limits: ProviderLimits;
  /** Tag of this node's pods at the back end. */
  readonly owner: Owner;
  readonly resolve: (pod: DeepReadonly<Pod>) => ResolvedPod;
  /** Removes the pod's secrets from errors of the provider, which everybody who may read the pod can see. */
  readonly redact?: ((uid: string, error: unknown) => unknown) | undefined;
  /** Whether this instance holds the node for certain. Default: always. */
  readonly isHeld?: (() => boolean) | undefined;
  /** The registered node, for admission. */
  readonly node: () => RegisteredNode | undefined;
  readonly hostIPs: () => readonly string[];
  readonly recorder: Pick<EventRecorder, "event">;
  readonly podOptions: PodOptions;
  /** Prevents the end of many pods at once that a relist did not contain. */
  readonly brake: MassLossBrake;
  /** Limits how many pods have their status written, or are removed, at once. */
  readonly statusWrites: ConcurrencyLimit;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Default: no tracing. */
  readonly tracer?: Tracer | undefined;
}

/**
 * Makes the provider run the pods bound to the node, and reports their status to the API server.
 *
 * The {@link PodRegistry} processes every change on either side and enqueues the pod's UID. The {@link PodActionRunner} then decides with
 * `nextAction` and calls the provider; the {@link StatusWriter} writes the status. No pod is processed
 * twice at once, and none is ever given up.
 */
export class PodController {
  /** The provider's methods with deadlines, checks and redaction. */
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
    // The pod's state holds a Retry-After, because the next action may be another operation.
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
    this.#permits = { start: semaphore(), end: semaphore(), ask: semaphore(), confirm: semaphore() };
    this.#runner = new PodActionRunner({
      ...options,
      isHeld: options.isHeld ?? (() => true),
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
      limit: options.statusWrites,
    });
  }

  /** Whether there is a state of a pod with that UID. */
  knows(uid: string): boolean {
    return this.#registry.get(uid) !== undefined;
  }

  /** Returns the pod's status according to its state; `undefined` if there is none yet. */
  statusOf(pod: DeepReadonly<Pod>): PodStatus | undefined {
    const state = this.#registry.get(pod.metadata?.uid ?? "");
    return state && this.#wantedStatus(pod, state);
  }

  /** Number of pods with any stored data. */
  get known(): number {
    return Math.max(this.#registry.size, this.#statuses.known);
  }

  /** Number of pods whose status, or removal, is being written or waits for that. */
  get unwritten(): number {
    return this.#statuses.pending;
  }

  /** Number of pods that wait for an action or a status write. */
  get pending(): number {
    return this.#queue.size + this.#permits.start.waiting + this.#permits.end.waiting + this.#statuses.pending;
  }

  /** State of the queues and permits, and of the selected pods. */
  inspect(query: PodQuery): PodsInspection {
    const { time } = this.#registry;
    const page = selectPods(this.#parts(), query, time.nowMs);
    const pods = page.pods.map((parts) => {
      const { pod, state } = parts;
      const wanted = pod && this.#wantedStatus(pod, state);
      const isWritten = pod === undefined || wanted === undefined || this.#statuses.isWritten(pod, wanted);
      return inspectPod(parts, { wanted, isWritten }, time);
    });
    const permits = (["start", "end", "ask", "confirm"] as const).map((kind) => {
      const { held, waiting } = this.#permits[kind];
      return { kind, held, waiting };
    });
    return { ...page, pods, permits, queues: [this.#queue.inspectAll(), this.#statuses.inspectQueue()] };
  }

  *#parts(): Generator<PodParts> {
    const { store } = this.#options;
    for (const state of this.#registry.values()) {
      const { uid } = state.ref;
      yield { state, pod: store.get(uid), work: this.#queue.inspect(uid), writing: this.#statuses.inspect(uid) };
    }
  }

  /**
   * Starts to follow the store and the provider's reports. No action is taken before {@link loadInventory}.
   *
   * @returns disposing of it stops that
   * @throws `signal.reason` when aborted
   */
  follow(signal: AbortSignal): Promise<Disposable> {
    this.#options.provider.notifyPods?.((update) => this.#registry.onReport(update));
    return this.#registry.follow(signal);
  }

  /**
   * Processes an inventory of the provider.
   *
   * @param startedMs - monotonic time of the request
   * @throws `signal.reason` when aborted
   */
  loadInventory(list: ProviderPodList, startedMs: number, signal: AbortSignal): Promise<void> {
    return this.#registry.onInventory(list, startedMs, signal);
  }

  /** Asks the provider about single pods, in one round, because it does not list all of them. */
  askSingly(signal: AbortSignal): Promise<void> {
    return this.#poller.round(signal);
  }

  /** Works until aborted; then waits for the calls in progress, which `hardSignal` aborts, and for the last statuses. */
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
        // Actions in progress may continue until the hard end.
        handler: (uid) => this.#work(uid, hardSignal),
      });
    } finally {
      await this.#flushStatuses(hardSignal);
      statusEnd.abort();
      await statuses;
    }
  }

  /** Retries everything that waits for a retry, because the back end or the API server has recovered. */
  retryNow(): void {
    this.#queue.resetBackoff();
    this.#statuses.retryNow();
    for (const { ref, verdict, resize, retryAfter } of [...this.#registry.values()]) {
      if (retryAfter) this.#registry.dispatch(ref.uid, { kind: "unthrottled" });
      if (retryAfter || verdict?.kind === "waiting" || (resize?.kind === "pending" && !resize.refused)) this.#queue.add(ref.uid);
    }
  }

  /** Forgets what the API server answered to writes, because it was restored from a backup. */
  forgetAnswers(): void {
    this.#statuses.forgetAnswers();
  }

  /** Retries a pod that waits for a secret or config map, because one that it refers to has appeared, changed or gone. */
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

  /** Aborts a call that hangs at the pod's active deadline, so that it does not delay the pod's end. */
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
