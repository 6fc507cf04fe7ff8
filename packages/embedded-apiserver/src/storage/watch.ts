import type { Clock } from "@virtual-kubelet/clock";
import { ApiStatusError, tooLargeResourceVersion } from "../errors/api-status-error.ts";
import { Disposables } from "../resources/disposables.ts";
import type { ApiObject, Kind } from "../kinds/kind.ts";
import { StoredObject, type ObjectCollection, type StorageEvent } from "./storage.ts";

/** The type of a watch line. */
export type WatchEventType = "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";

/** What a watch asks for. */
export interface WatchOptions {
  /** Absent: all namespaces. */
  readonly namespace: string | undefined;
  /** Whether an object is selected; absent: all are. */
  readonly selects: ((object: Readonly<ApiObject>) => boolean) | undefined;
  /** The version to start after; absent or 0: the objects there are come first. */
  readonly resourceVersion: number | undefined;
  readonly sendInitialEvents: boolean | undefined;
  readonly allowBookmarks: boolean;
  /** The watch ends after so many milliseconds. */
  readonly timeoutMs: number;
  /** Makes another form of the object, such as a table; absent: the object itself. */
  readonly transform: ((object: Readonly<ApiObject>) => unknown) | undefined;
}

/** What a watch is run by. */
export interface WatchSource {
  readonly clock: Clock;
  readonly collection: ObjectCollection;
  /** The server's latest resourceVersion, over all kinds. */
  readonly latestVersion: () => number;
  /** Changes that may wait for a slow reader; the watch is closed when there are more. */
  readonly bufferLimit: number;
}

/** Source: k8s.io/apiserver v0.36.3 pkg/storage/cacher/cacher.go, `defaultBookmarkFrequency`. */
const bookmarkIntervalMs = 60_000;
/** A bookmark comes so long before the watch times out; source: the same file's `bookmarkTimer`. */
const bookmarkLeadMs = 2_000;
/** Lines are joined to chunks of about this size. */
const chunkBytes = 128 * 1024;
const lineEnd = Buffer.from("}\n");
const lineStarts: Readonly<Record<WatchEventType, Buffer>> = {
  ADDED: lineStart("ADDED"),
  MODIFIED: lineStart("MODIFIED"),
  DELETED: lineStart("DELETED"),
  BOOKMARK: lineStart("BOOKMARK"),
  ERROR: lineStart("ERROR"),
};

/** Stands between a watch's lines and its reader. */
export interface LineFilter {
  /**
   * Asked whenever the reader waits.
   *
   * @param take - takes the next line, with its end; `undefined` if there is none yet
   * @returns what the reader gets; `undefined`: nothing for now
   * @throws what the reader gets in place of an end
   */
  pass(take: () => Uint8Array | undefined): Uint8Array | undefined;
}

type Line =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly stored: StoredObject }
  | { readonly type: "BOOKMARK" | "ERROR"; readonly object: unknown };

/**
 * One watch: an iterable of chunks of JSON lines, for one reader.
 *
 * It ends when it times out, when its reader leaves, when {@link WatchStream.close} is called, and when the reader is
 * so slow that more than `bufferLimit` changes wait for it.
 */
export class WatchStream implements AsyncIterable<Uint8Array>, AsyncIterator<Uint8Array>, Disposable {
  readonly #source: WatchSource;
  readonly #options: WatchOptions;
  readonly #resources = new Disposables();
  #bookmarkTimer: Disposable | undefined;
  readonly #endsAt: number;
  /** Objects to send first; they are turned into lines only as the reader gets to them. */
  #initial: Line[] = [];
  #initialSent = 0;
  #queue: Line[] = [];
  #closed = false;
  #wake: (() => void) | undefined;
  #filter: LineFilter | undefined;

  constructor(source: WatchSource, options: WatchOptions) {
    this.#source = source;
    this.#options = options;
    this.#endsAt = source.clock.monotonic() + options.timeoutMs;
  }

  /** The kind whose changes it tells. */
  get kind(): Kind {
    return this.#source.collection.kind;
  }

  /** Begins to collect changes; to be called once, before the first read. */
  start(): this {
    try {
      this.#begin();
    } catch (error) {
      if (!(error instanceof ApiStatusError)) throw error;
      // Once a watch has been accepted, its errors are events: so does the real server.
      this.#initial.push({ type: "ERROR", object: error.status });
      this.close();
      return this;
    }
    this.#resources.use(this.#source.clock.setTimer(this.#options.timeoutMs, () => this.close()));
    this.#scheduleBookmark();
    return this;
  }

  /** Ends the watch; what is already collected can still be read. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#resources.dispose();
    this.#bookmarkTimer?.[Symbol.dispose]();
    this.#wake?.();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    for (;;) {
      const chunk = this.#filter === undefined ? this.#takeChunk() : this.#filter.pass(() => this.#takeEncoded());
      if (chunk !== undefined) return { done: false, value: chunk };
      if (this.#closed) return { done: true, value: undefined };
      await new Promise<void>((resolve) => (this.#wake = resolve));
      this.#wake = undefined;
    }
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    this.close();
    this.#initial = [];
    this.#queue = [];
    return { done: true, value: undefined };
  }

  /** Calls back when the watch has ended. */
  onClose(listener: () => void): void {
    if (this.#closed) listener();
    else this.#resources.defer(listener);
  }

  /** Puts a filter before the reader, in place of the one there is. */
  setFilter(filter: LineFilter): void {
    this.#filter = filter;
    this.wake();
  }

  /** Has the reader look again whether there is something for it. */
  wake(): void {
    this.#wake?.();
  }

  #begin(): void {
    const { collection, latestVersion } = this.#source;
    const { resourceVersion = 0, sendInitialEvents } = this.#options;
    if (sendInitialEvents ?? resourceVersion === 0) {
      if (resourceVersion > latestVersion()) throw tooLargeResourceVersion(resourceVersion, latestVersion());
      this.#initial = collection
        .list(this.#options.namespace)
        .filter((stored) => this.#selects(stored))
        .map((stored) => ({ type: "ADDED", stored }));
      if (sendInitialEvents === true && this.#options.allowBookmarks)
        this.#initial.push(this.#bookmark({ "k8s.io/initial-events-end": "true" }));
    } else if (resourceVersion > 0) {
      for (const event of collection.eventsSince(resourceVersion)) this.#take(event, this.#initial);
    }
    this.#resources.use(
      collection.subscribe((event) => {
        if (event.resourceVersion > resourceVersion) this.#take(event, this.#queue);
        if (this.#queue.length > this.#source.bufferLimit) this.close();
        else if (this.#queue.length > 0) this.#wake?.();
      }),
    );
  }

  /** An object that begins to be selected is added to the watcher's world, one that ceases to be leaves it. */
  #take(event: StorageEvent, lines: Line[]): void {
    const { current, previous } = event;
    const was = previous !== undefined && this.#selects(previous);
    if (event.type === "DELETED") {
      if (was) lines.push({ type: "DELETED", stored: current });
      return;
    }
    const is = this.#selects(current);
    if (is) lines.push({ type: was ? "MODIFIED" : "ADDED", stored: current });
    else if (was) lines.push({ type: "DELETED", stored: atVersion(previous, event.resourceVersion) });
  }

  #selects({ object }: StoredObject): boolean {
    const { namespace, selects } = this.#options;
    if (namespace !== undefined && object.metadata.namespace !== namespace) return false;
    return selects === undefined || selects(object);
  }

  #takeChunk(): Uint8Array | undefined {
    const parts: Buffer[] = [];
    let bytes = 0;
    while (bytes < chunkBytes) {
      const line = this.#takeLine();
      if (line === undefined) break;
      const json = this.#encode(line);
      parts.push(lineStarts[line.type], json, lineEnd);
      bytes += json.length;
    }
    return parts.length === 0 ? undefined : Buffer.concat(parts);
  }

  #takeEncoded(): Uint8Array | undefined {
    const line = this.#takeLine();
    return line === undefined ? undefined : Buffer.concat([lineStarts[line.type], this.#encode(line), lineEnd]);
  }

  #takeLine(): Line | undefined {
    if (this.#initialSent < this.#initial.length) return this.#initial[this.#initialSent++];
    if (this.#initialSent > 0) {
      this.#initial = [];
      this.#initialSent = 0;
    }
    if (this.#queue.length === 0) return undefined;
    this.#initial = this.#queue;
    this.#queue = [];
    return this.#initial[this.#initialSent++];
  }

  #encode(line: Line): Buffer {
    if (!("stored" in line)) return Buffer.from(JSON.stringify(line.object));
    const { transform } = this.#options;
    return transform === undefined ? line.stored.json : Buffer.from(JSON.stringify(transform(line.stored.object)));
  }

  #scheduleBookmark(): void {
    if (!this.#options.allowBookmarks) return;
    const left = this.#endsAt - this.#source.clock.monotonic();
    const delay = Math.min(bookmarkIntervalMs, left - bookmarkLeadMs);
    if (delay <= 0) return;
    this.#bookmarkTimer = this.#source.clock.setTimer(delay, () => {
      this.#queue.push(this.#bookmark());
      this.#wake?.();
      this.#scheduleBookmark();
    });
  }

  #bookmark(annotations?: Record<string, string>): Line {
    const { group, version, kind } = this.#source.collection.kind;
    const metadata = { resourceVersion: String(this.#source.latestVersion()), ...(annotations === undefined ? {} : { annotations }) };
    // The real server sends the kind's empty Go struct, whose only required list is the pod's.
    const spec = kind === "Pod" ? { spec: { containers: null }, status: {} } : {};
    return { type: "BOOKMARK", object: { kind, apiVersion: group === "" ? version : `${group}/${version}`, metadata, ...spec } };
  }
}

function atVersion(stored: StoredObject, resourceVersion: number): StoredObject {
  const object = { ...stored.object, metadata: { ...stored.object.metadata, resourceVersion: String(resourceVersion) } } as ApiObject;
  return new StoredObject(object, resourceVersion);
}

function lineStart(type: WatchEventType): Buffer {
  return Buffer.from(`{"type":"${type}","object":`);
}
