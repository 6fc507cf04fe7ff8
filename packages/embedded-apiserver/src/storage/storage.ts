import { byCodeUnits } from "../json/key-order.ts";
import { expired } from "../errors/api-status-error.ts";
import { storageFormOf, type ApiObject, type Kind } from "../kinds/kind.ts";
import { objectJson } from "./object-json.ts";
import { SortedNames } from "./sorted-names.ts";

/** An immutable version of an object, which can be shared. */
export class StoredObject {
  readonly object: Readonly<ApiObject>;
  /** Number in `metadata.resourceVersion`. */
  readonly resourceVersion: number;
  #json: Buffer | undefined;
  #superseded = false;

  constructor(object: Readonly<ApiObject>, resourceVersion: number) {
    this.object = object;
    this.resourceVersion = resourceVersion;
  }

  /** Encoded JSON. For the latest version it is cached and shared by all responses, lists and watches. */
  get json(): Buffer {
    if (this.#superseded) return toJson(this.object);
    return (this.#json ??= toJson(this.object));
  }

  /** Drops the cached JSON because a later version exists. */
  supersede(): void {
    this.#superseded = true;
    this.#json = undefined;
  }
}

/** A change, for watches and for lists of older versions. */
export interface StorageEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly resourceVersion: number;
  /** State after the change. For a deletion: the last state, with the resourceVersion of the deletion. */
  readonly current: StoredObject;
  /** State before the change; `undefined` for ADDED. */
  readonly previous: StoredObject | undefined;
}

/** Options of {@link Storage}. */
export interface StorageOptions {
  /** Maximum number of changes kept per kind, for watches that resume and for continued lists. */
  readonly historyLimit: number;
}

/** Objects of one kind with the most recent changes, in memory. */
export class Collection {
  readonly kind: Kind;
  readonly #counter: VersionCounter;
  readonly #historyLimit: number;
  /** By namespace, then by name; `""` is the namespace of cluster-scoped objects. */
  readonly #objects = new Map<string, Map<string, StoredObject>>();
  /** By namespace, for those that have been listed. */
  readonly #order = new Map<string, SortedNames>();
  readonly #listeners = new Set<(event: StorageEvent) => void>();
  #undelivered: StorageEvent[] = [];
  #history: StorageEvent[] = [];
  /** The history contains every change after this version. */
  #historyStart = 0;

  constructor(kind: Kind, counter: VersionCounter, historyLimit: number) {
    this.kind = kind;
    this.#counter = counter;
    this.#historyLimit = historyLimit;
  }

  /** @param namespace - `""` for cluster-scoped kinds */
  get(namespace: string, name: string): StoredObject | undefined {
    return this.#objects.get(namespace)?.get(name);
  }

  /** All objects, or those of a namespace, ordered by namespace and name. */
  list(namespace?: string): StoredObject[] {
    if (namespace !== undefined) return this.#sorted(namespace);
    const namespaces = [...this.#objects.keys()].toSorted((a, b) => byCodeUnits(`${a}/`, `${b}/`));
    return namespaces.flatMap((each) => this.#sorted(each));
  }

  /** Number of objects, or of those in a namespace. */
  count(namespace?: string): number {
    if (namespace !== undefined) return this.#objects.get(namespace)?.size ?? 0;
    let count = 0;
    for (const objects of this.#objects.values()) count += objects.size;
    return count;
  }

  /** The same objects without an order and without copying. Objects may be added and removed during the iteration. */
  *values(namespace?: string): Generator<StoredObject, void> {
    if (namespace === undefined) for (const objects of this.#objects.values()) yield* objects.values();
    else yield* this.#objects.get(namespace)?.values() ?? [];
  }

  /**
   * Objects at an earlier version, ordered by namespace and name.
   *
   * @throws ApiStatusError 410 if the history does not reach back to that version
   */
  listAt(resourceVersion: number, namespace?: string): StoredObject[] {
    if (resourceVersion >= this.#lastVersion()) return this.list(namespace);
    const undone = new Map<string, StoredObject | undefined>();
    for (const event of this.eventsSince(resourceVersion)) {
      const key = keyOf(event.current.object);
      if (!undone.has(key)) undone.set(key, event.previous);
    }
    const unchanged = this.list(namespace).filter((stored) => !undone.has(keyOf(stored.object)));
    const restored = [...undone.values()].filter(
      (stored) => stored !== undefined && (namespace === undefined || stored.object.metadata.namespace === namespace),
    );
    return [...unchanged, ...(restored as StoredObject[])].toSorted((a, b) => byCodeUnits(keyOf(a.object), keyOf(b.object)));
  }

  /** Stores an object and assigns the next resourceVersion. The object is not copied. */
  put(object: ApiObject): StoredObject {
    const namespace = object.metadata.namespace ?? "";
    let names = this.#objects.get(namespace);
    if (names === undefined) this.#objects.set(namespace, (names = new Map<string, StoredObject>()));
    const previous = names.get(object.metadata.name);
    const current = this.#version(object);
    names.set(object.metadata.name, current);
    if (previous === undefined) this.#order.get(namespace)?.add(object.metadata.name);
    this.#publish({ type: previous === undefined ? "ADDED" : "MODIFIED", resourceVersion: current.resourceVersion, current, previous });
    return current;
  }

  /** Removes an object. @returns its last state, with the deletion's resourceVersion. */
  remove(stored: StoredObject): StoredObject {
    const { namespace = "", name } = stored.object.metadata;
    const names = this.#objects.get(namespace);
    names?.delete(name);
    if (names?.size === 0) {
      this.#objects.delete(namespace);
      this.#order.delete(namespace);
    }
    const current = this.#version({ ...stored.object, metadata: { ...stored.object.metadata } });
    this.#publish({ type: "DELETED", resourceVersion: current.resourceVersion, current, previous: stored });
    return current;
  }

  /**
   * Changes after a version.
   *
   * @throws ApiStatusError 410 if some of them are no longer retained
   */
  eventsSince(resourceVersion: number): StorageEvent[] {
    if (resourceVersion < this.#historyStart) throw expired(`too old resource version: ${resourceVersion} (${this.#historyStart})`);
    let low = 0;
    let high = this.#history.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const event = this.#history[middle];
      if (event !== undefined && event.resourceVersion <= resourceVersion) low = middle + 1;
      else high = middle;
    }
    return this.#history.slice(low);
  }

  /** Calls the listener after every change, in order. The listener must not block. */
  subscribe(listener: (event: StorageEvent) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  #sorted(namespace: string): StoredObject[] {
    const objects = this.#objects.get(namespace);
    if (objects === undefined) return [];
    let order = this.#order.get(namespace);
    if (order === undefined) this.#order.set(namespace, (order = new SortedNames(objects.keys())));
    return order.of(objects);
  }

  #version(object: ApiObject): StoredObject {
    const resourceVersion = this.#counter.next();
    object.metadata.resourceVersion = String(resourceVersion);
    return new StoredObject(object, resourceVersion);
  }

  #publish(event: StorageEvent): void {
    event.previous?.supersede();
    this.#history.push(event);
    // Removed in batches, because removing each entry would move the whole array.
    if (this.#history.length > this.#historyLimit * 1.25) {
      const cut = this.#history.length - this.#historyLimit;
      this.#historyStart = this.#history[cut - 1]?.resourceVersion ?? this.#historyStart;
      this.#history = this.#history.slice(cut);
    }
    this.#undelivered.push(event);
    if (this.#undelivered.length === 1) this.#deliver();
  }

  /** If a listener writes, all other listeners still see the first change before the second. */
  #deliver(): void {
    try {
      // Grows while a listener writes.
      for (const event of this.#undelivered) for (const listener of this.#listeners) listener(event);
    } finally {
      this.#undelivered = [];
    }
  }

  #lastVersion(): number {
    return this.#history.at(-1)?.resourceVersion ?? this.#historyStart;
  }
}

/** Interface of {@link Collection}. */
export type ObjectCollection = Pick<Collection, keyof Collection>;

/** Objects of all kinds, with one resourceVersion counter. */
export class Storage {
  readonly #counter = new VersionCounter();
  /** By plural name and group, because the versions of a kind share their objects. */
  readonly #collections = new Map<string, Collection>();
  readonly #historyLimit: number;

  constructor(options: StorageOptions) {
    this.#historyLimit = options.historyLimit;
  }

  /** Last assigned resourceVersion over all kinds. */
  get resourceVersion(): number {
    return this.#counter.current;
  }

  /** Objects of a kind. */
  collection(kind: Kind): Collection {
    const key = `${kind.plural}.${storageFormOf(kind).group}`;
    let collection = this.#collections.get(key);
    if (collection === undefined) this.#collections.set(key, (collection = new Collection(kind, this.#counter, this.#historyLimit)));
    return collection;
  }
}

class VersionCounter {
  current = 1;

  next(): number {
    return ++this.current;
  }
}

/** Not allocated from Buffer's pool, because a slice keeps the whole pool in memory. */
function toJson(object: Readonly<ApiObject>): Buffer {
  const text = objectJson(object);
  const json = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  json.write(text);
  return json;
}

function keyOf(object: Readonly<ApiObject>): string {
  return `${object.metadata.namespace ?? ""}/${object.metadata.name}`;
}
