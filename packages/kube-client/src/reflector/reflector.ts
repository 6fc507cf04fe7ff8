import type { Clock, Random } from "@virtual-kubelet/clock";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import { isDeepStrictEqual } from "node:util";
import type { KubeClient, ListQuery, WatchEvent } from "../rest/client.ts";
import { pageSize } from "../rest/list-all.ts";
import type { Logger } from "../telemetry/logger.ts";
import type { ServerHistory } from "./server-history.ts";
import type { MetricLabels, Metrics } from "../telemetry/metrics.ts";
import { ObjectPreparation } from "./object-preparation.ts";
import type { ObjectSink } from "./object-sink.ts";
import { ObjectStore } from "./object-store.ts";
import type { ObjectWatch, ReflectorInspection } from "./object-watch.ts";
import type { KubernetesObject } from "../rest/objects.ts";
import { PageTokens } from "../rest/page-tokens.ts";
import {
  failureOf,
  initialReflectorState,
  type Failure,
  type ReflectorEffect,
  type ReflectorInput,
  type ReflectorPhase,
} from "./reflector-state.ts";
import { step } from "./reflector-step.ts";
import type { Resource } from "../rest/resources.ts";
import type { Store } from "./store.ts";
import type { TransportPool } from "../transport/transport.ts";
import { openWatch, type WatchConnection } from "./watch-connection.ts";

/** Time limit for the initial state of a streamed list. */
const initialEventsMs = 30_000;
/** Minimum duration of a watch; the actual one is random, up to twice as long, so that watches do not all reconnect at once. */
const watchSeconds = 300;

/** Failure of everything that was under way when a new list was asked for. */
const outdated: Failure = {
  kind: "gone",
  error: new UnavailableError("what was listed and watched is out of date; it is listed anew"),
  retryAfterMs: undefined,
};

/** Options of {@link Reflector}. */
export interface ReflectorOptions<T extends KubernetesObject> {
  readonly client: KubeClient;
  readonly resource: Resource<T>;
  /** Default: all objects of the resource. */
  readonly query?: Pick<ListQuery, "namespace" | "labelSelector" | "fieldSelector"> | undefined;
  /** Connections of its requests; default: `long`. `quiet` for one of very many reflectors that each watch one object. */
  readonly pool?: TransportPool | undefined;
  /** Content of the store's objects: all (default), or only `apiVersion`, `kind` and `metadata`, which saves memory and traffic. */
  readonly content?: "object" | "metadata" | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /**
   * Counts, by `resource`: `vk_reflector_lists_total` (by `list`), `vk_reflector_watches_total` (by `end_reason`),
   * `vk_reflector_relist_missed_events_total`, `vk_reflector_decode_errors_total`.
   */
  readonly metrics: Metrics;
  /**
   * Changes a freshly parsed object in place before it is stored, such as removing what no reader of the store needs; metadata that identifies
   * the object has to stay. Default: nothing is changed.
   */
  readonly compact?: ((object: T) => void) | undefined;
  /**
   * Whether to freeze every object, so that a change of one throws. Default: `false`, because it costs as much as parsing the
   * objects. For tests and development.
   */
  readonly freeze?: boolean | undefined;
  /** Tells when the versions seen so far are no longer the server's, so that everything has to be listed anew. */
  readonly history?: ServerHistory | undefined;
}

/** Options of a reflector whose objects go elsewhere than in a store of its own. */
export interface SinkOptions<T extends KubernetesObject> extends ReflectorOptions<T> {
  /** Where the objects go. Default: the reflector's own store, which stays empty otherwise. */
  readonly sink?: ObjectSink<T> | undefined;
  /** Called after each failed request, and returns at once. */
  readonly onFailure?: ((error: unknown) => void) | undefined;
}

/**
 * Keeps a {@link Store} equal to the API server's objects, whatever happens to the server and the connections. It
 * lists once, streamed if the server supports that and otherwise in pages, then watches; after every break it resumes from the last version
 * seen, and lists again only if the server no longer has that version. Objects come without `managedFields`, always
 * with `apiVersion` and `kind`, and must not be changed: equal parts of several objects, and of versions of one, are the same in memory.
 *
 * Source of its rules: client-go `tools/cache/reflector.go`; of its shape: kube-rs `watcher.rs`.
 */
export class Reflector<T extends KubernetesObject> implements ObjectWatch<T> {
  readonly #options: SinkOptions<T>;
  readonly #logger: Logger;
  readonly #labels: MetricLabels;
  readonly #objects: ObjectStore<T>;
  readonly #sink: ObjectSink<T>;
  readonly #preparation: ObjectPreparation<T>;
  readonly #synced = Promise.withResolvers<void>();
  #isSynced = false;
  /** Whether the last list is complete, and at most a refused watch has followed it. */
  #isListed = false;
  #phase: ReflectorPhase = initialReflectorState.phase;
  #collected = new Map<string, T>();
  #tokens: PageTokens | undefined;
  #connection: WatchConnection<T> | undefined;
  #initialLimit: Disposable | undefined;
  #lastContactMs: number | undefined;
  #phaseSinceMs = 0;
  #lists = 0;
  #endedWatches = 0;
  #wake: AbortController | undefined;
  /** Whether a new list has to replace what was listed and watched so far. */
  #isOutdated = false;
  /** Whether the versions in the store are of a former history, so that equal ones may belong to different states. */
  #hasFormerVersions = false;

  constructor(options: SinkOptions<T>) {
    this.#options = options;
    this.#labels = { resource: options.resource.plural };
    this.#logger = options.logger.child(this.#labels);
    this.#objects = new ObjectStore(options);
    this.#sink = options.sink ?? this.#objects;
    this.#preparation = new ObjectPreparation({ ...options, sink: this.#sink });
    // Callers may ignore the promise.
    this.#synced.promise.catch(() => {});
    options.metrics.count("vk_reflector_relist_missed_events_total", this.#labels, 0);
    options.metrics.count("vk_reflector_decode_errors_total", this.#labels, 0);
  }

  /** The objects; empty until {@link synced}. */
  get store(): Store<T> {
    return this.#objects;
  }

  /** Resolves when the store holds the whole first list; rejects if the run ends earlier. */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  /** Monotonic time of the last answer or line from the server; `undefined` before the first. For liveness checks. */
  get lastContactMs(): number | undefined {
    return this.#lastContactMs;
  }

  /**
   * Whether the store follows the server now: the last list is complete, and the watch that continues it is open. If the server refuses
   * that watch, so that a new list has to replace it, the store is current until that list begins.
   */
  get isCurrent(): boolean {
    const { kind } = this.#phase;
    if (this.#isOutdated) return false;
    return kind === "watching" || (kind === "waiting" && this.#isListed);
  }

  /** Version up to which the server is followed; `undefined` before the first list is complete, and while it is listed anew. */
  get version(): string | undefined {
    if (this.#isOutdated) return undefined;
    const phase = this.#phase.kind === "waiting" ? this.#phase.next : this.#phase;
    return phase.kind === "watching" || phase.kind === "listed" ? phase.resourceVersion : undefined;
  }

  /** State at this moment. */
  inspect(): ReflectorInspection {
    const { clock } = this.#options;
    const phase = this.#phase;
    const elapsedMs = clock.monotonic() - this.#phaseSinceMs;
    return {
      phase: phase.kind,
      objects: this.#sink.size,
      lists: this.#lists,
      endedWatches: this.#endedWatches,
      failure:
        phase.kind === "waiting"
          ? { error: phase.failure.error, attempt: phase.attempt, retryInMs: Math.max(0, phase.delayMs - elapsedMs) }
          : undefined,
    };
  }

  /**
   * Ends the wait after a failure, because the API server is known to answer again. A wait for a Retry-After
   * continues.
   */
  wake(): void {
    this.#wake?.abort();
  }

  /** Lists and watches until aborted. May be called once. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, history } = this.#options;
    using _restored = history?.onRestored(() => this.#listAnew());
    // A signal that is composed of others looks at all of them each time it is asked.
    let isAborted = signal.aborted;
    const onAbort = (): void => void (isAborted = true);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      for (let state = initialReflectorState; !isAborted;) {
        const input = this.#readArrived(state.phase) ?? (await this.#perform(state.phase, signal));
        const result = step(state, input, { nowMs: clock.monotonic(), random });
        this.#observe(state.phase, input, result.state.phase);
        for (const effect of result.effects) this.#apply(effect);
        state = result.state;
        if (state.phase.kind !== this.#phase.kind) this.#phaseSinceMs = clock.monotonic();
        this.#phase = state.phase;
      }
      this.#synced.reject(signal.reason);
    } catch (error) {
      this.#synced.reject(error);
      if (!signal.aborted) throw error;
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#close();
    }
  }

  /** Lists instead of continuing the watch. The store keeps its objects, and is not current until the new list is complete. */
  #listAnew(): void {
    this.#isOutdated = true;
    this.#hasFormerVersions = true;
    this.#connection?.breakOff("its versions are no longer the server's");
    this.wake();
  }

  /** Performs the phase, and returns the resulting event. */
  async #perform(phase: ReflectorPhase, signal: AbortSignal): Promise<ReflectorInput<T>> {
    if (phase.kind === "waiting") return await this.#performPhase(phase, signal);
    if (phase.kind === "starting" || (phase.kind === "listing" && phase.continue === undefined)) this.#isOutdated = false;
    const input = this.#isOutdated ? undefined : await this.#performPhase(phase, signal);
    // It may have become outdated meanwhile.
    return input === undefined || this.#isOutdated ? { kind: "failed", failure: outdated } : input;
  }

  async #performPhase(phase: ReflectorPhase, signal: AbortSignal): Promise<ReflectorInput<T>> {
    try {
      switch (phase.kind) {
        case "starting":
          return await this.#open({ sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" }, signal);
        case "listed":
          return await this.#open({ resourceVersion: phase.resourceVersion }, signal);
        case "streaming":
        case "watching":
          return await this.#read();
        case "listing":
          return await this.#list(phase, signal);
        case "waiting":
          await this.#wait(phase.delayMs, phase.failure.retryAfterMs === undefined, signal);
          return { kind: "waited" };
        default:
          return phase satisfies never;
      }
    } catch (error) {
      signal.throwIfAborted();
      return { kind: "failed", failure: failureOf(error) };
    }
  }

  async #wait(ms: number, canWake: boolean, signal: AbortSignal): Promise<void> {
    const wake = new AbortController();
    if (canWake) this.#wake = wake;
    try {
      await this.#options.clock.sleep(ms, AbortSignal.any([signal, wake.signal]));
    } catch (error) {
      if (signal.aborted || !wake.signal.aborted) throw error;
    } finally {
      this.#wake = undefined;
    }
  }

  async #open(
    how: Pick<ListQuery, "resourceVersion" | "resourceVersionMatch"> & { readonly sendInitialEvents?: boolean },
    signal: AbortSignal,
  ): Promise<ReflectorInput<T>> {
    const { client, resource, query, pool, content: answer, clock, random } = this.#options;
    const timeoutSeconds = watchSeconds + Math.floor(random.next() * (watchSeconds + 1));
    const watch = { ...query, ...how, allowWatchBookmarks: true, timeoutSeconds };
    this.#connection = await openWatch({ client, resource, query: watch, pool, managedFields: "drop", answer, clock, signal });
    if (how.sendInitialEvents) {
      this.#initialLimit = this.#connection.limit(initialEventsMs, `no k8s.io/initial-events-end in ${initialEventsMs / 1000} s`);
    }
    this.#heard();
    return { kind: "opened" };
  }

  async #read(): Promise<ReflectorInput<T>> {
    const event = await this.#connection?.next();
    if (!event) return { kind: "ended", openMs: this.#connection?.openMs ?? 0 };
    this.#heard();
    return this.#received(event);
  }

  /** Returns an event that has already arrived, because waiting for each of many costs more than most of them do. */
  #readArrived({ kind }: ReflectorPhase): ReflectorInput<T> | undefined {
    if ((kind !== "watching" && kind !== "streaming") || this.#isOutdated) return undefined;
    try {
      const event = this.#connection?.arrived();
      return event && this.#received(event);
    } catch (error) {
      return { kind: "failed", failure: failureOf(error) };
    }
  }

  #received(event: WatchEvent<T>): ReflectorInput<T> {
    if (event.type === "ADDED" || event.type === "MODIFIED") this.#preparation.prepare(event.object, true);
    else if (event.type === "DELETED") this.#preparation.prepare(event.object, false);
    return { kind: "event", event };
  }

  async #list(phase: ReflectorPhase & { readonly kind: "listing" }, signal: AbortSignal): Promise<ReflectorInput<T>> {
    const { client, resource, query, pool = "long", content: answer } = this.#options;
    const limit = phase.paged ? pageSize : undefined;
    const page = await client.list(resource, { ...query, limit, continue: phase.continue }, { signal, pool, answer });
    this.#heard();
    for (const object of page.items) this.#preparation.prepare(object, true);
    if (phase.continue === undefined) this.#tokens = new PageTokens(`list ${resource.plural}`);
    this.#tokens?.add(page.continue);
    return { kind: "page", objects: page.items, resourceVersion: page.resourceVersion, continue: page.continue };
  }

  #apply(effect: ReflectorEffect<T>): void {
    switch (effect.kind) {
      case "clear":
        this.#collected = new Map();
        this.#sink.begin();
        return;
      case "collect":
        for (const object of effect.objects) {
          if (!this.#sink.accepts(object)) continue;
          const uid = object.metadata?.uid ?? "";
          if (effect.type === "put") this.#collected.set(uid, object);
          else this.#collected.delete(uid);
        }
        return;
      case "replace":
        return this.#replace(effect.list);
      case "apply":
        if (effect.type === "put") this.#sink.put(effect.object);
        else this.#sink.remove(effect.object);
        return;
      default:
        effect satisfies never;
    }
  }

  #replace(list: "streamed" | "paged"): void {
    const { metrics } = this.#options;
    const changes = this.#sink.replace(this.#collected.values(), this.#hasFormerVersions ? isDeepStrictEqual : undefined);
    this.#hasFormerVersions = false;
    this.#lists++;
    this.#collected = new Map();
    metrics.count("vk_reflector_lists_total", { ...this.#labels, list });
    if (this.#isSynced) metrics.count("vk_reflector_relist_missed_events_total", this.#labels, changes);
    this.#logger.info({ list, objects: this.#sink.size, changes }, "listed");
    this.#isSynced = true;
    this.#synced.resolve();
  }

  #heard(): void {
    this.#lastContactMs = this.#options.clock.monotonic();
  }

  /** Closes connections that the next phase does not use, counts and logs. */
  #observe(before: ReflectorPhase, input: ReflectorInput<T>, after: ReflectorPhase): void {
    const { metrics } = this.#options;
    const isRefused = before.kind === "listed" && after.kind === "waiting" && after.next.kind !== "listed";
    this.#isListed = isRefused ? this.#isListed : before.kind === "listing" && after.kind === "listed";
    if (before.kind === "streaming" && after.kind !== "streaming") this.#initialLimit?.[Symbol.dispose]();
    if (this.#connection && after.kind !== "streaming" && after.kind !== "watching") {
      this.#close();
      this.#endedWatches++;
      metrics.count("vk_reflector_watches_total", { ...this.#labels, end_reason: after.kind === "waiting" ? after.failure.kind : "ended" });
    }
    if (after.kind !== "waiting" || before.kind === "waiting") return;
    if (after.failure.kind === "unreadable") metrics.count("vk_reflector_decode_errors_total", this.#labels);
    const fields = {
      phase: before.kind,
      next: after.next.kind,
      attempt: after.attempt,
      delayMs: Math.round(after.delayMs),
      err: after.failure.error,
    };
    this.#logger.warn(fields, "list or watch failed; trying again");
    this.#options.onFailure?.(after.failure.error);
  }

  #close(): void {
    this.#connection?.[Symbol.dispose]();
    this.#connection = undefined;
  }
}
