import { LruMap } from "./lru-map.ts";
import type { ObjectReference } from "../rest/objects.ts";

// Source of all values: client-go v0.36 `tools/record/events_cache.go`.
/** Maximum number of remembered objects, groups and series, each. */
const maxRemembered = 4_096;
/** Burst of events of one object and type, and time for one more after it. */
const spamBurst = 25;
const spamRefillMs = 300_000;
/** Number of different messages from which a reason's events are combined into one, and the idle time that ends this. */
const maxSimilar = 10;
const similarMs = 600_000;
const combinedPrefix = "(combined from similar events): ";

/** Time after the first occurrence during which a repeated event increments the count instead of creating a new one. */
const seriesMs = 600_000;

/** A single occurrence, before correlation. */
export interface Occurrence {
  readonly object: ObjectReference;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** A counted event, which corresponds to one `Event` object at the API server. */
export interface EventSeries {
  /** The created `Event` object, and its count. */
  stored: { readonly namespace: string; readonly name: string; count: number } | undefined;
  /** Number of occurrences that were not sent; the next sent one includes them. */
  unsent: number;
  /** Monotonic time of its first occurrence. */
  readonly sinceMs: number;
}

/** Result of the correlation of an occurrence. */
export interface Correlation {
  readonly series: EventSeries;
  /** Prefix of the message of a combined event. */
  readonly message: string;
  /** Whether the series combines several messages, and shows the latest of them. */
  readonly isCombined: boolean;
  /** The object has had too many events: this one is counted but not sent. */
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
 * Limits the events of each object, so that none crowds out others: repeated events are counted, events that differ only in their message
 * are combined, and after a burst an object may have one event in five minutes. Memory is bounded.
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
    // The refill is computed from the time of the last taken token, because rounding errors of many small refills would add up.
    if (left < 1) return false;
    this.#buckets.set(key, { tokens: left - 1, atMs: nowMs });
    return true;
  }
}
