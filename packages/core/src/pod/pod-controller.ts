import {
  noTracer,
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
  type Tracer,
} from "@virtual-kubelet/kube-client";
import type { PodOptions, RegisteredNode } from "../options.ts";
import type { Capabilities } from "../provider/capabilities.ts";
import type { Owner, PodLifecycleHandler, PodNotifier, ProviderPodList } from "../provider/provider.ts";
import { ProviderCalls } from "../provider/provider-calls.ts";
import type { ResolvedPod } from "../provider/resolved-pod.ts";
import type { PodRecord } from "./pod-record.ts";
import { PodRecords } from "./pod-records.ts";
import { PodWorker } from "./pod-worker.ts";
import { StatusWriter } from "./status-writer.ts";
import { wantedStatus } from "./wanted-status.ts";

/** Provider calls at once unless told otherwise: waiting costs little here, and a back end may take minutes a pod. */
const defaultWorkers = 50;

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
  readonly capabilities: Capabilities;
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
 * Every change on either side is noted in {@link PodRecords} and marks the pod's UID. A {@link PodWorker} then looks at
 * both sides, decides with `planPod` and calls the provider; the {@link StatusWriter} does the
 * same for the status. No pod is worked on twice at once, and none is ever given up.
 */
export class PodController {
  /** The provider, called safely. */
  readonly calls: ProviderCalls;
  readonly #deps: PodControllerDeps;
  readonly #queue: WorkQueue;
  readonly #records: PodRecords;
  readonly #worker: PodWorker;
  readonly #statuses: StatusWriter;

  constructor(deps: PodControllerDeps) {
    this.#deps = deps;
    const { client, clock, logger, metrics, options, provider, random, store, tracer = noTracer } = deps;
    const onPlan = (uid: string): void => this.#queue.add(uid);
    const onStatus = (uid: string): void => this.#statuses.mark(uid);
    this.#queue = new WorkQueue({ name: "pods", clock, random, metrics });
    this.#records = new PodRecords({ ...deps, onPlan, onStatus });
    this.calls = new ProviderCalls({
      provider,
      clock,
      logger,
      metrics,
      tracer,
      timeoutMs: options.providerTimeoutMs ?? defaultProviderTimeoutMs,
      redact: deps.redact,
      onLateEnd: (ref) => this.#records.onLateEnd(ref),
    });
    this.#worker = new PodWorker({
      ...deps,
      tracer,
      records: this.#records,
      calls: this.calls,
      onPlan,
      onStatus,
      onForgotten: (uid) => this.#statuses.forget(uid),
    });
    this.#statuses = new StatusWriter({
      client,
      store,
      record: (uid) => this.#records.get(uid),
      wanted: (pod, record) => this.#wantedStatus(pod, record),
      clock,
      random,
      logger,
      metrics,
      tracer,
    });
  }

  /** Whether anything is known of a pod of that UID. */
  knows(uid: string): boolean {
    return this.#records.get(uid) !== undefined;
  }

  /** The status a pod should have by what is known now; `undefined` if there is nothing to say. */
  statusOf(pod: DeepReadonly<Pod>): PodStatus | undefined {
    const record = this.#records.get(pod.metadata?.uid ?? "");
    return record && this.#wantedStatus(pod, record);
  }

  /** Pods anything is kept of. */
  get known(): number {
    return Math.max(this.#records.size, this.#statuses.known);
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
    this.#deps.provider.notifyPods?.((update) => this.#records.onReport(update));
    return this.#records.follow();
  }

  /**
   * Takes in an inventory of the provider.
   *
   * @param startedMs - monotonic time at which it was asked for
   */
  loadInventory(list: ProviderPodList, startedMs: number): void {
    this.#records.onInventory(list, startedMs);
  }

  /** Works until aborted; then waits for the calls under way, which `hardSignal` ends, and for the last statuses. */
  async run(signal: AbortSignal, hardSignal: AbortSignal): Promise<void> {
    const { options, logger } = this.#deps;
    const statusEnd = new AbortController();
    const statuses = this.#statuses.run(AbortSignal.any([statusEnd.signal, hardSignal]));
    try {
      await this.#queue.run({
        concurrency: options.workers ?? defaultWorkers,
        signal,
        logger,
        // What is under way at the end may go on until the hard end.
        handler: (uid) => this.#worker.work(uid, hardSignal),
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
    for (const { ref, verdict } of this.#records.values()) if (verdict?.kind === "waiting") this.#queue.add(ref.uid);
  }

  /** A secret or config map that the pod refers to has come, changed or gone: what waited for that is tried now. */
  configChanged(uid: string): void {
    const record = this.#records.get(uid);
    if (record?.waitsForConfig || record?.call) this.#queue.add(uid);
  }

  #wantedStatus(pod: DeepReadonly<Pod>, record: PodRecord): PodStatus | undefined {
    const { clock, hostIPs } = this.#deps;
    return wantedStatus(pod, record, { hostIPs: hostIPs(), nowMs: clock.now() }, clock.monotonic());
  }

  async #flushStatuses(hardSignal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const untilMs = clock.monotonic() + flushMs;
    while (this.#statuses.pending > 0 && !hardSignal.aborted && clock.monotonic() < untilMs) await clock.sleep(20);
  }
}
