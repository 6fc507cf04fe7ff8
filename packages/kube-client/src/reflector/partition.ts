import { untilAborted } from "@virtual-kubelet/async";
import type { DeepReadonly, KubernetesObject } from "../rest/objects.ts";
import { ObjectStore, type ObjectStoreOptions } from "./object-store.ts";
import type { ObjectWatch, ReflectorInspection } from "./object-watch.ts";
import type { Store } from "./store.ts";

/** An event of the shared watch. */
interface SharedEvent<T> {
  readonly type: "put" | "remove";
  readonly object: DeepReadonly<T>;
}

/** How a partition gets its objects. */
type PartitionState<T> =
  /** From the next shared list, if that is complete. */
  | { readonly kind: "waiting"; readonly isListed: boolean }
  /** From a list of its own that is under way; events that come meanwhile are kept. */
  | { readonly kind: "listing"; readonly stop: AbortController; readonly events: SharedEvent<T>[] }
  /** From the shared watch, of which events up to a version are known already. */
  | { readonly kind: "following"; readonly knownVersion: string | undefined };

/** The watch that a partition gets its objects from. */
type PartitionSource = Pick<ObjectWatch<KubernetesObject>, "isCurrent" | "lastContactMs" | "inspect" | "wake">;

/** The objects of one key. Only its `PartitionedReflector` calls methods that are not {@link ObjectWatch}'s. */
export class Partition<T extends KubernetesObject> implements ObjectWatch<T>, Disposable {
  readonly key: string;
  /** Aborts when the partition has been disposed of. */
  readonly left: AbortSignal;
  readonly objects: ObjectStore<T>;
  readonly #onLeave: () => void;
  readonly #onRenew: () => void;
  readonly #left = new AbortController();
  #synced = Promise.withResolvers<void>();
  readonly #failed = Promise.withResolvers<never>();
  #source: PartitionSource;
  /** Ends the reflector that fills the store instead of the shared watch. */
  #own: AbortController | undefined;
  #state: PartitionState<T> = { kind: "waiting", isListed: false };
  /** Whether the store has held a whole list since it began to follow the source. */
  #isComplete = false;
  #isExpired = false;

  constructor(
    key: string,
    options: ObjectStoreOptions & { readonly source: PartitionSource; readonly onLeave: () => void; readonly onRenew: () => void },
  ) {
    this.key = key;
    this.left = this.#left.signal;
    this.objects = new ObjectStore(options);
    this.#source = options.source;
    this.#onLeave = options.onLeave;
    this.#onRenew = options.onRenew;
    // Callers may ignore these promises.
    this.#synced.promise.catch(() => {});
    this.#failed.promise.catch(() => {});
  }

  get store(): Store<T> {
    return this.objects;
  }

  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  get isCurrent(): boolean {
    return this.#isComplete && !this.left.aborted && this.#source.isCurrent;
  }

  get lastContactMs(): number | undefined {
    return this.#source.lastContactMs;
  }

  inspect(): ReflectorInspection {
    return { ...this.#source.inspect(), objects: this.objects.size };
  }

  wake(): void {
    this.#source.wake();
  }

  expire(): void {
    this.#isExpired = true;
  }

  #renew(): void {
    this.#isExpired = false;
    if (this.left.aborted) return;
    this.#leaveShared();
    const before = this.#synced;
    this.#synced = Promise.withResolvers();
    this.#synced.promise.catch(() => {});
    // Whoever waits already needs no newer list than this one.
    this.#synced.promise.then(before.resolve, before.reject);
    this.#onRenew();
  }

  async run(signal: AbortSignal): Promise<void> {
    if (this.#isExpired) this.#renew();
    try {
      await untilAborted(this.#failed.promise, signal);
    } catch (error) {
      this.#synced.reject(error);
      if (!signal.aborted) throw error;
    }
  }

  /** A shared list begins, of which this partition's objects are collected. */
  begin(): void {
    this.#stopListing();
    this.#state = { kind: "waiting", isListed: true };
  }

  /** Whether the shared list that is complete now has this partition's objects. */
  get isListed(): boolean {
    return this.#state.kind === "waiting" && this.#state.isListed;
  }

  /** A list of this partition's objects begins, beside the shared watch. @returns aborts when it is no longer needed */
  startListing(): AbortSignal {
    this.#stopListing();
    const stop = new AbortController();
    this.#state = { kind: "listing", stop, events: [] };
    return stop.signal;
  }

  /** The partition's own list is complete. Events of the shared watch up to its version are in it. */
  finishListing(objects: readonly DeepReadonly<T>[], version: string): void {
    if (this.#state.kind !== "listing") return;
    const { events } = this.#state;
    this.replace(objects, undefined, version);
    for (const { type, object } of events) this.apply(type, object);
  }

  /** Replaces the content. @returns number of differences */
  replace(
    objects: Iterable<DeepReadonly<T>>,
    isSame: ((a: DeepReadonly<T>, b: DeepReadonly<T>) => boolean) | undefined,
    knownVersion?: string,
  ): number {
    this.#state = { kind: "following", knownVersion };
    const changes = this.objects.replace(objects, isSame);
    this.complete();
    return changes;
  }

  /** The store holds a whole list. */
  complete(): void {
    this.#isComplete = true;
    this.#synced.resolve();
  }

  /** Applies an event of the shared watch. */
  apply(type: "put" | "remove", object: DeepReadonly<T>): void {
    const state = this.#state;
    if (state.kind === "listing") state.events.push({ type, object });
    if (state.kind !== "following" || !isAfter(versionOf(object), state.knownVersion)) return;
    // All that follow are later, too.
    if (state.knownVersion !== undefined) this.#state = { kind: "following", knownVersion: undefined };
    this.objects[type](object);
  }

  /**
   * Ends the part in the shared watch: from now on another one fills the store, and calls {@link complete}.
   *
   * @returns aborts when that one is no longer needed
   */
  separate(source: PartitionSource): AbortSignal {
    this.#source = source;
    this.#leaveShared();
    this.#own = new AbortController();
    return this.#own.signal;
  }

  /** Lets {@link run} fail. */
  fail(error: unknown): void {
    this.#failed.reject(error);
  }

  /** Leaves the shared watch; the store no longer changes. */
  [Symbol.dispose](): void {
    if (this.left.aborted) return;
    const reason = new Error(`${this.key} was left`);
    this.#left.abort(reason);
    this.#leaveShared();
    this.#synced.reject(reason);
    this.#onLeave();
  }

  #leaveShared(): void {
    this.#own?.abort(new Error(`${this.key} is followed otherwise`));
    this.#stopListing();
    this.#isComplete = false;
    this.#state = { kind: "waiting", isListed: false };
  }

  #stopListing(): void {
    if (this.#state.kind === "listing") this.#state.stop.abort();
  }
}

function versionOf({ metadata }: DeepReadonly<KubernetesObject>): string | undefined {
  return metadata?.resourceVersion;
}

/** Versions that are no numbers cannot be compared, and count as later. */
function isAfter(version = "", known = ""): boolean {
  if (!/^\d+$/.test(version) || !/^\d+$/.test(known)) return true;
  return version.length === known.length ? version > known : version.length > known.length;
}
