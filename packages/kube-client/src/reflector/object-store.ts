import type { Logger } from "../telemetry/logger.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { DeepReadonly, KubernetesObject } from "../rest/objects.ts";
import type { ObjectSink } from "./object-sink.ts";
import type { Store, StoreChange } from "./store.ts";

export interface ObjectStoreOptions {
  readonly logger: Logger;
  /** Counts `vk_store_listener_errors_total`. */
  readonly metrics: Metrics;
}

/** A {@link Store} with methods for its reflector to change it. Objects must have a UID. */
export class ObjectStore<T extends KubernetesObject> implements Store<T>, ObjectSink<T> {
  readonly #options: ObjectStoreOptions;
  /** Replaced, never mutated, so that a change reaches exactly the listeners of its time. */
  #listeners: readonly ((change: StoreChange<T>) => void)[] = [];
  #byUid = new Map<string, DeepReadonly<T>>();
  #byName = new Map<string, DeepReadonly<T>>();

  constructor(options: ObjectStoreOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#byUid.size;
  }

  get(uid: string): DeepReadonly<T> | undefined {
    return this.#byUid.get(uid);
  }

  getByName(namespace: string | undefined, name: string): DeepReadonly<T> | undefined {
    return this.#byName.get(nameKey(namespace, name));
  }

  list(): IterableIterator<DeepReadonly<T>> {
    return this.#byUid.values();
  }

  subscribe(listener: (change: StoreChange<T>) => void): Disposable {
    // One function may subscribe twice.
    const own = (change: StoreChange<T>): void => listener(change);
    this.#listeners = [...this.#listeners, own];
    return { [Symbol.dispose]: () => void (this.#listeners = this.#listeners.filter((each) => each !== own)) };
  }

  accepts(): boolean {
    return true;
  }

  heldOf(object: DeepReadonly<T>): DeepReadonly<T> | undefined {
    return this.#byUid.get(uidOf(object));
  }

  begin(): void {
    // The content stays until it is replaced.
  }

  /** Adds the object, or replaces its earlier state. Another object of the same name is removed. */
  put(object: DeepReadonly<T>): void {
    const uid = uidOf(object);
    const previous = this.#byUid.get(uid);
    if (previous && sameVersion(previous, object)) return;
    const namesake = this.#byName.get(nameKeyOf(object));
    const replaced = namesake && uidOf(namesake) !== uid ? namesake : undefined;
    if (replaced) this.#byUid.delete(uidOf(replaced));
    this.#byUid.set(uid, object);
    this.#byName.set(nameKeyOf(object), object);
    if (replaced) this.#emit({ type: "deleted", uid: uidOf(replaced), object: replaced, missed: false });
    this.#emit(previous ? { type: "updated", uid, object, previous } : { type: "added", uid, object });
  }

  /** Removes the object, and passes its last state to the listeners. An unknown object is ignored. */
  remove(object: DeepReadonly<T>): void {
    const uid = uidOf(object);
    if (!this.#byUid.delete(uid)) return;
    const namesake = this.#byName.get(nameKeyOf(object));
    if (namesake && uidOf(namesake) === uid) this.#byName.delete(nameKeyOf(object));
    this.#emit({ type: "deleted", uid, object, missed: false });
  }

  /**
   * Replaces the whole content at once; then reports each difference, deletions first.
   *
   * @param isSame - whether two states of one object are the same. Default: they have the same version
   * @returns number of differences
   */
  replace(objects: Iterable<DeepReadonly<T>>, isSame: (a: DeepReadonly<T>, b: DeepReadonly<T>) => boolean = sameVersion): number {
    const before = this.#byUid;
    this.#byUid = new Map();
    this.#byName = new Map();
    const changes: StoreChange<T>[] = [];
    for (const object of objects) {
      const uid = uidOf(object);
      const previous = before.get(uid);
      const kept = previous && isSame(previous, object) ? previous : object;
      this.#byUid.set(uid, kept);
      this.#byName.set(nameKeyOf(kept), kept);
      if (!previous) changes.push({ type: "added", uid, object });
      else if (kept !== previous) changes.push({ type: "updated", uid, object, previous });
    }
    let deletions = 0;
    for (const [uid, object] of before) {
      if (this.#byUid.has(uid)) continue;
      deletions++;
      // Another object has its name, so it is certainly gone.
      this.#emit({ type: "deleted", uid, object, missed: !this.#byName.has(nameKeyOf(object)) });
    }
    for (const change of changes) this.#emit(change);
    return changes.length + deletions;
  }

  #emit(change: StoreChange<T>): void {
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (error) {
        this.#options.metrics.count("vk_store_listener_errors_total");
        this.#options.logger.error({ uid: change.uid, change: change.type, err: error }, "a listener of the object store failed");
      }
    }
  }
}

function uidOf(object: DeepReadonly<KubernetesObject>): string {
  return object.metadata?.uid ?? "";
}

function nameKey(namespace: string | undefined, name: string): string {
  return `${namespace ?? ""}/${name}`;
}

function nameKeyOf({ metadata }: DeepReadonly<KubernetesObject>): string {
  return nameKey(metadata?.namespace, metadata?.name ?? "");
}

function sameVersion(a: DeepReadonly<KubernetesObject>, b: DeepReadonly<KubernetesObject>): boolean {
  return a.metadata?.resourceVersion !== undefined && a.metadata.resourceVersion === b.metadata?.resourceVersion;
}
