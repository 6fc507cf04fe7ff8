import { LruMap } from "./lru-map.ts";
import type { ObjectReference } from "../rest/objects.ts";

// All of them: client-go v0.36 `tools/record/events_cache.go`.
/** Most objects, groups and series that are remembered, each. */
const maxRemembered = 4_096;
/** Events of one object and type at once, and how long one more takes to be allowed after them. */
const spamBurst = 25;
const spamRefillMs = 300_000;
/** With so many different messages a reason's events are combined into one, until so long passes without another. */
const maxSimilar = 10;
const similarMs = 600_000;
const combinedPrefix = "(combined from similar events): ";

/** How long after its first occurrence an event counts up that one instead of being made anew. */
const seriesMs = 600_000;

/** What happened, before anything is known of what happened before. */
export interface Occurrence {
  readonly object: ObjectReference;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** An event that counts how often it happened; it stands for one `Event` object at the API server. */
export interface EventSeries {
  /** The `Event` object, once it was created, and the count that it has. */
  stored: { readonly namespace: string; readonly name: string; count: number } | undefined;
  /** Occurrences that were not sent; the next one that is sent counts them. */
  unsent: number;
  /** Monotonic time of its first occurrence. */
  readonly sinceMs: number;
}

/** What is to be told of an occurrence. */
export interface Correlation {
  readonly series: EventSeries;
  /** Says of a combined event that it is one. */
  readonly message: string;
  /** Whether the series stands for several messages, and shows the latest of them. */
  readonly isCombined: boolean;
  /** The object has had too many events: this one is counted, and not sent. */
  readonly isSpam: boolean;
}

interface Bucket {
  readonly tokens: number;
  readonly atMs: number;
}

interface Group {
  readonly messages: Set<string>;
  lastMs: number;
}

/**
 * Holds a noisy object down, so that others are heard: what repeats is counted, what differs in its message alone is combined,
 * and an object's events beyond a burst are allowed one in five minutes. It remembers a bounded number of objects.
 *
 * Source: client-go v0.36 `tools/record/events_cache.go`, `EventCorrelator`.
 */
export class EventCorrelator {
  readonly #buckets = new LruMap<string, Bucket>(maxRemembered);
  readonly #groups = new LruMap<string, Group>(maxRemembered);
  readonly #series = new LruMap<string, EventSeries>(maxRemembered);

  /** @param nowMs - monotonic time */
  correlate({ object, type, reason, message }: Occurrence, nowMs: number): Correlation {
    const source = [object.apiVersion, object.kind, object.namespace, object.name, object.uid, type].join("\0");
    const group = `${source}\0${reason}`;
    const isCombined = this.#isCombined(group, message, nowMs);
    const series = this.#seriesOf(isCombined ? group : `${group}\0${object.fieldPath ?? ""}\0${message}`, nowMs);
    return { series, message: isCombined ? combinedPrefix + message : message, isCombined, isSpam: !this.#takeToken(source, nowMs) };
  }

  #isCombined(key: string, message: string, nowMs: number): boolean {
    const known = this.#groups.get(key);
    const group = known && nowMs - known.lastMs <= similarMs ? known : { messages: new Set<string>(), lastMs: nowMs };
    if (group !== known) this.#groups.set(key, group);
    group.messages.add(message);
    group.lastMs = nowMs;
    if (group.messages.size < maxSimilar) return false;
    const [oldest = ""] = group.messages;
    group.messages.delete(oldest);
    return true;
  }

  #seriesOf(key: string, nowMs: number): EventSeries {
    const known = this.#series.get(key);
    if (known && nowMs - known.sinceMs < seriesMs) return known;
    const series: EventSeries = { stored: undefined, unsent: 0, sinceMs: nowMs };
    this.#series.set(key, series);
    return series;
  }

  #takeToken(key: string, nowMs: number): boolean {
    const { tokens, atMs } = this.#buckets.get(key) ?? { tokens: spamBurst, atMs: nowMs };
    const left = Math.min(spamBurst, tokens + (nowMs - atMs) / spamRefillMs);
    // What is left of a token is computed from when the last one was taken: many small parts do not add up to a whole.
    if (left < 1) return false;
    this.#buckets.set(key, { tokens: left - 1, atMs: nowMs });
    return true;
  }
}
