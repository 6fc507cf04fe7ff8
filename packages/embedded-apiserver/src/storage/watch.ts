import { jsonText } from "../json/exact-json.ts";
import { apiVersionOf } from "../kinds/api-version.ts";
import type { Clock } from "@virtual-kubelet/clock";
import { ApiStatusError, tooLargeResourceVersion } from "../errors/api-status-error.ts";
import { Disposables } from "../resources/disposables.ts";
import type { ApiObject, Kind } from "../kinds/kind.ts";
import type { JsonFields } from "../kinds/schema/protobuf-encode.ts";
import { StoredObject, type ObjectCollection, type StorageEvent } from "./storage.ts";

type WatchEventType = "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";

/** Parameters of a watch. */
export interface WatchOptions {
  /** `undefined` for all namespaces. */
  readonly namespace: string | undefined;
  /** Predicate of the selectors; `undefined` for all objects. */
  readonly selects: ((object: Readonly<ApiObject>) => boolean) | undefined;
  /** Version after which events start; with `undefined` or 0 the current objects come first. */
  readonly resourceVersion: number | undefined;
  readonly sendInitialEvents: boolean | undefined;
  readonly allowBookmarks: boolean;
  /** Duration of the watch in milliseconds. */
  readonly timeoutMs: number;
  /** Converts objects to another form, such as a table; `undefined` for the object itself. */
  readonly transform: ((object: Readonly<ApiObject>) => JsonFields) | undefined;
  /** Converts a bookmark, which has only metadata. */
  readonly asBookmark?: ((bookmark: JsonFields) => JsonFields) | undefined;
  /** Encodes an event; default: a line of JSON. */
  readonly frame?: ((type: string, object: JsonFields) => Buffer) | undefined;
}

/** Source of a watch's events. */
export interface WatchSource {
  readonly clock: Clock;
  readonly collection: ObjectCollection;
  /** Latest resourceVersion over all kinds. */
  readonly latestVersion: () => number;
  /** Maximum number of changes that wait for a slow reader before the watch is closed. */
  readonly bufferLimit: number;
}

/** Source: k8s.io/apiserver v0.36.3 pkg/storage/cacher/cacher.go, `defaultBookmarkFrequency`. */
const bookmarkIntervalMs = 60_000;
/** Time between the last bookmark and the timeout; source: `bookmarkTimer` of the same file. */
const bookmarkLeadMs = 2_000;
/** Approximate size of a chunk, into which lines are joined. */
const chunkBytes = 128 * 1024;
const lineEnd = Buffer.from("}\n");
const lineStarts: Readonly<Record<WatchEventType, Buffer>> = {
  ADDED: lineStart("ADDED"),
  MODIFIED: lineStart("MODIFIED"),
  DELETED: lineStart("DELETED"),
  BOOKMARK: lineStart("BOOKMARK"),
  ERROR: lineStart("ERROR"),
};

/** Filter between the lines of a watch and its reader. */
export interface LineFilter {
  /**
   * Called whenever the reader waits.
   *
   * @param take - returns the next line with its end; `undefined` if there is none yet
   * @returns bytes for the reader; `undefined` for nothing yet
   * @throws the error that the reader receives
   */
  pass(take: () => Uint8Array | undefined): Uint8Array | undefined;
}

type Line =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly stored: StoredObject }
  | { readonly type: "BOOKMARK" | "ERROR"; readonly object: JsonFields };

/**
 * One watch: an iterable of chunks of JSON lines, for one reader.
 *
 * It ends at its timeout, when the reader returns, when {@link WatchStream.close} is called, and when more than `bufferLimit` changes wait
 * for a slow reader.
 */
export class WatchStream implements AsyncIterable<Uint8Array>, AsyncIterator<Uint8Array>, Disposable {
  readonly #source: WatchSource;
  readonly #options: WatchOptions;
  readonly #resources = new Disposables();
  #bookmarkTimer: Disposable | undefined;
  readonly #endsAt: number;
  /** Initial objects, which are encoded only when the reader reaches them. */
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

  /** Kind of the watched objects. */
  get kind(): Kind {
    return this.#source.collection.kind;
  }

  /** Starts collecting changes. Must be called once, before the first read. */
  start(): this {
    try {
      this.#begin();
    } catch (error) {
      if (!(error instanceof ApiStatusError)) throw error;
      // As on the real server, errors of an accepted watch are events.
      this.#initial.push({ type: "ERROR", object: { ...error.status } });
      this.close();
      return this;
    }
    this.#resources.use(this.#source.clock.setTimer(this.#options.timeoutMs, () => this.close()));
    this.#scheduleBookmark();
    return this;
  }

  /** Ends the watch. Collected changes can still be read. */
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

  /** Calls the listener when the watch has ended. */
  onClose(listener: () => void): void {
    if (this.#closed) listener();
    else this.#resources.defer(listener);
  }

  /** Bytes of an error, as the reader expects them. */
  encodeError(status: JsonFields): Uint8Array {
    const parts: Buffer[] = [];
    this.#encode({ type: "ERROR", object: status }, parts);
    return Buffer.concat(parts);
  }

  /** Replaces the filter. */
  setFilter(filter: LineFilter): void {
    this.#filter = filter;
    this.wake();
  }

  /** Makes a waiting reader call the filter again. */
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

  /** An object that starts to match the selectors is ADDED for the watch; one that stops matching is DELETED. */
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
      bytes += this.#encode(line, parts);
    }
    return parts.length === 0 ? undefined : Buffer.concat(parts);
  }

  #takeEncoded(): Uint8Array | undefined {
    const line = this.#takeLine();
    if (line === undefined) return undefined;
    const parts: Buffer[] = [];
    this.#encode(line, parts);
    return Buffer.concat(parts);
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

  /** Adds the bytes of an event. @returns their approximate number */
  #encode(line: Line, parts: Buffer[]): number {
    const { transform, frame } = this.#options;
    if (frame !== undefined) {
      const bytes = frame(line.type, this.#objectOf(line));
      parts.push(bytes);
      return bytes.length;
    }
    const isStored = "stored" in line && transform === undefined;
    const json = isStored ? line.stored.json : Buffer.from(jsonText(this.#objectOf(line)));
    parts.push(lineStarts[line.type], json, lineEnd);
    return json.length;
  }

  #objectOf(line: Line): JsonFields {
    if (!("stored" in line)) return line.object;
    const { transform } = this.#options;
    return transform === undefined ? line.stored.object : transform(line.stored.object);
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
    // The real server sends an empty Go struct, in which only the pod's list of containers is not optional.
    const spec = kind === "Pod" ? { spec: { containers: null }, status: {} } : {};
    const object = { kind, apiVersion: apiVersionOf({ group, version }), metadata };
    const { asBookmark } = this.#options;
    return { type: "BOOKMARK", object: asBookmark === undefined ? { ...object, ...spec } : asBookmark(object) };
  }
}

function atVersion(stored: StoredObject, resourceVersion: number): StoredObject {
  const object = { ...stored.object, metadata: { ...stored.object.metadata, resourceVersion: String(resourceVersion) } } as ApiObject;
  return new StoredObject(object, resourceVersion);
}

function lineStart(type: WatchEventType): Buffer {
  return Buffer.from(`{"type":"${type}","object":`);
}
