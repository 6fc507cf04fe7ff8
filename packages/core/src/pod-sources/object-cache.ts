import { SingleFlight } from "@virtual-kubelet/async";
import type { Clock, Random } from "@virtual-kubelet/clock";
import { NotFoundError } from "@virtual-kubelet/errdefs";
import {
  Reflector,
  type DeepReadonly,
  type KubeClient,
  type KubernetesObject,
  type Logger,
  type Metrics,
  type Resource,
  type ServerHistory,
} from "@virtual-kubelet/kube-client";
import { readObject } from "../api-server/read-object.ts";

/** Validity of a read object while its watch is being opened; the watch reports changes in the meantime. */
const freshMs = 1_000;

/** Time for which an object without reads is watched. Source: five resyncs in kubernetes v1.36.3 watch_based_manager.go. */
const idleMs = 300_000;

/** Name of one object. */
export interface ObjectKey {
  readonly namespace: string;
  readonly name: string;
}

export interface ObjectCacheOptions<T extends KubernetesObject> {
  readonly client: KubeClient;
  readonly resource: Resource<T>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Tells when everything has to be listed anew. */
  readonly history?: ServerHistory | undefined;
  /** Called for each holder of an object that has appeared, changed or gone since the last read; must return at once. */
  readonly onChange: (holder: string) => void;
}

interface Watch<T extends KubernetesObject> {
  readonly reflector: Reflector<T>;
  readonly stop: AbortController;
  isSynced: boolean;
}

interface Entry<T extends KubernetesObject> {
  readonly key: ObjectKey;
  readonly holders: Set<string>;
  /** Whether it is watched while it has holders, even if nobody reads it. */
  isKept: boolean;
  /** A read result; `object` is absent if there is none. */
  known: { readonly object: DeepReadonly<T> | undefined; readonly atMs: number } | undefined;
  watch: Watch<T> | undefined;
  idleTimer: Disposable | undefined;
  usedMs: number;
}

/**
 * Cache of single objects of one kind: each is fetched at its first read, and then watched, both by name, so
 * that the Node authorizer allows it. An object is cached while a pod that has read it holds it. An
 * immutable object is fetched once and not watched.
 * Source: kubernetes v1.36.3 pkg/kubelet/util/manager/watch_based_manager.go.
 */
export class ObjectCache<T extends KubernetesObject & { immutable?: boolean | undefined }> {
  readonly #options: ObjectCacheOptions<T>;
  readonly #logger: Logger;
  readonly #entries = new Map<string, Entry<T>>();
  /** The keys of each holder's entries. */
  readonly #held = new Map<string, Set<string>>();
  readonly #fetches = new SingleFlight<DeepReadonly<T> | undefined>();
  readonly #running = new Set<Promise<void>>();
  #isClosed = false;

  constructor(options: ObjectCacheOptions<T>) {
    this.#options = options;
    this.#logger = withoutInfo(options.logger);
  }

  /** Number of cached objects. */
  get size(): number {
    return this.#entries.size;
  }

  /** Number of watched objects. */
  get watches(): number {
    return this.#running.size;
  }

  /**
   * Returns the object. With a holder it is watched from then on, even if it is missing or could not be read, until
   * {@link release}, or until nobody has read it for five minutes.
   *
   * @param holder - UID of the pod that needs it; absent: the object is read without caching
   * @param keep - whether the watch continues until {@link release}, even if nobody reads the object; default: false
   * @throws NotFoundError, in a kubelet's words; what the API server answers; `signal.reason`
   */
  async read(key: ObjectKey, holder: string | undefined, signal: AbortSignal, keep = false): Promise<DeepReadonly<T>> {
    signal.throwIfAborted();
    const id = idOf(key);
    const entry = holder === undefined || this.#isClosed ? this.#entries.get(id) : this.#hold(key, holder);
    if (entry && keep) entry.isKept = true;
    const known = entry && this.#known(entry);
    const object = known ? known.object : await this.#fetches.run(id, (inner) => this.#fetch(key, inner), signal);
    if (object) return object;
    throw new NotFoundError(`${this.#options.resource.kind.toLowerCase()} "${key.name}" not found`);
  }

  /** Returns the cached results of the holder's objects. */
  heldBy(holder: string): DeepReadonly<T>[] {
    const entries = [...(this.#held.get(holder) ?? [])].map((id) => this.#entries.get(id));
    return entries.flatMap((entry) => entry?.known?.object ?? []);
  }

  /** Releases the holder's objects; those without another holder are no longer watched. */
  release(holder: string): void {
    for (const id of this.#held.get(holder) ?? []) {
      const entry = this.#entries.get(id);
      entry?.holders.delete(holder);
      if (entry?.holders.size === 0) this.#drop(entry);
    }
    this.#held.delete(holder);
  }

  /** Ends all watches. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const entry of [...this.#entries.values()]) this.#drop(entry);
    this.#held.clear();
    await Promise.all(this.#running);
  }

  #hold(key: ObjectKey, holder: string): Entry<T> {
    const id = idOf(key);
    let entry = this.#entries.get(id);
    if (!entry) {
      entry = { key, holders: new Set(), isKept: false, known: undefined, watch: undefined, idleTimer: undefined, usedMs: 0 };
      this.#entries.set(id, entry);
    }
    entry.holders.add(holder);
    const held = this.#held.get(holder) ?? new Set();
    this.#held.set(holder, held.add(id));
    return entry;
  }

  #known(entry: Entry<T>): Entry<T>["known"] {
    const nowMs = this.#options.clock.monotonic();
    entry.usedMs = nowMs;
    const { known, watch } = entry;
    if (!known) return undefined;
    const isFresh = watch?.isSynced || known.object?.immutable || nowMs - known.atMs < freshMs;
    return isFresh ? known : undefined;
  }

  async #fetch(key: ObjectKey, signal: AbortSignal): Promise<DeepReadonly<T> | undefined> {
    try {
      const isKnown = this.#entries.get(idOf(key))?.watch !== undefined;
      const object = await readObject(this.#options, key, signal, isKnown);
      const entry = this.#entries.get(idOf(key));
      if (entry && !entry.watch?.isSynced) entry.known = { object, atMs: this.#options.clock.monotonic() };
      return object;
    } finally {
      const entry = this.#entries.get(idOf(key));
      if (entry) this.#follow(entry);
    }
  }

  /** Watches the object, unless it is already watched or immutable. */
  #follow(entry: Entry<T>): void {
    if (entry.watch || this.#isClosed || entry.known?.object?.immutable) return;
    const { client, history, clock, random, metrics, resource } = this.#options;
    const { namespace, name } = entry.key;
    const query = { namespace, fieldSelector: `metadata.name=${name}` };
    const reflector = new Reflector<T>({ client, history, clock, random, metrics, logger: this.#logger, resource, query, pool: "quiet" });
    const watch: Watch<T> = { reflector, stop: new AbortController(), isSynced: false };
    entry.watch = watch;
    reflector.store.subscribe(() => this.#observe(entry, watch));
    const running = reflector
      .run(watch.stop.signal)
      .catch((error: unknown) => this.#logger.error({ err: error }, "the watch of an object ended"))
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
    reflector.synced.then(
      () => {
        watch.isSynced = true;
        this.#observe(entry, watch);
      },
      () => {},
    );
    this.#stopWhenIdle(entry, idleMs);
  }

  /** Processes the watch's state, and notifies the holders of changes. */
  #observe(entry: Entry<T>, watch: Watch<T>): void {
    if (entry.watch !== watch) return;
    const object = watch.reflector.store.getByName(entry.key.namespace, entry.key.name);
    const before = entry.known;
    entry.known = { object, atMs: this.#options.clock.monotonic() };
    // The object is immutable now; and a store must not be closed inside its own notification.
    if (object?.immutable) queueMicrotask(() => entry.watch === watch && this.#unwatch(entry));
    if (before && versionOf(before.object) === versionOf(object)) return;
    for (const holder of [...entry.holders]) this.#options.onChange(holder);
  }

  #stopWhenIdle(entry: Entry<T>, ms: number): void {
    const { clock } = this.#options;
    entry.idleTimer = clock.setTimer(ms, () => {
      const leftMs = entry.usedMs + idleMs - clock.monotonic();
      if (leftMs > 0) this.#stopWhenIdle(entry, leftMs);
      else if (!entry.isKept) this.#drop(entry);
    });
  }

  #drop(entry: Entry<T>): void {
    const id = idOf(entry.key);
    this.#unwatch(entry);
    for (const holder of entry.holders) this.#held.get(holder)?.delete(id);
    if (this.#entries.get(id) === entry) this.#entries.delete(id);
  }

  #unwatch(entry: Entry<T>): void {
    entry.idleTimer?.[Symbol.dispose]();
    entry.idleTimer = undefined;
    entry.watch?.stop.abort(new Error("nobody needs the object any more"));
    entry.watch = undefined;
  }
}

function idOf({ namespace, name }: ObjectKey): string {
  return `${namespace}/${name}`;
}

function versionOf(object: DeepReadonly<KubernetesObject> | undefined): string | undefined {
  return object?.metadata?.resourceVersion;
}

/** A single watch is not worth an info message among thousands. */
function withoutInfo(logger: Logger): Logger {
  return {
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.debug(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
    child: (fields) => withoutInfo(logger.child(fields)),
  };
}
