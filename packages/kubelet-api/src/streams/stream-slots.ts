import type { Clock } from "@virtual-kubelet/clock";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import type { KubeletRequest } from "../routes/route.ts";
import { Refusal } from "../server/refusal.ts";
import type { ThrottledLog } from "../server/throttled-log.ts";

/** What {@link StreamSlots} go by. */
export interface StreamSlotsOptions {
  /** How many logs, commands and forwards may be open at once. */
  readonly max: number;
  /** How many of them are kept for logs. Default: an eighth. */
  readonly reservedForLogs?: number | undefined;
  readonly clock: Clock;
  readonly throttledLog: ThrottledLog;
}

/** Whose stream it is. */
export type StreamOwner = Pick<KubeletRequest, "user" | "params">;

/** A stream's place, until it is disposed. */
export interface StreamSlot extends Disposable {
  /** Aborts when the place is taken away; whoever holds it ends the stream, and then disposes the slot. */
  readonly signal: AbortSignal;
  /** Something was carried. */
  touch(): void;
  /** Sets who says when something was carried last, on the clock's monotonic time; in place of {@link touch}. */
  follow(lastActiveMs: () => number): void;
}

/** One that asks for a slot gets it from the idlest of its own only if that has carried nothing for so long. */
const ownIdleMs = 60_000;

/** Part of the slots that may be evicted and not ended: while it is used up nothing is evicted any more, except for a log. */
const endingPart = 8;

class HeldSlot {
  readonly isLog: boolean;
  /** User, namespace, pod. */
  readonly path: readonly string[];
  readonly owner: StreamOwner;
  readonly controller = new AbortController();
  lastActiveMs: () => number;

  constructor(owner: StreamOwner, { isLog, nowMs }: { readonly isLog: boolean; readonly nowMs: number }) {
    const { user, params } = owner;
    this.isLog = isLog;
    this.owner = owner;
    this.path = [user.name, params["namespace"] ?? "", params["pod"] ?? ""];
    this.lastActiveMs = () => nowMs;
  }
}

/**
 * Shares out how many logs, commands and forwards are open at once. While there is room everybody gets it, except for a part that only
 * logs get. After that the user who holds most gives way to who holds less, of a user's namespaces the one that holds most, and of a
 * namespace's pods: the idlest stream there is ended.
 */
export class StreamSlots {
  readonly #max: number;
  readonly #maxOthers: number;
  readonly #clock: Clock;
  readonly #throttledLog: ThrottledLog;
  readonly #held = new Set<HeldSlot>();
  /** Evicted, and not ended yet. */
  readonly #ending = new Set<HeldSlot>();

  constructor({ max, reservedForLogs = Math.floor(max / 8), clock, throttledLog }: StreamSlotsOptions) {
    this.#max = max;
    this.#maxOthers = max - reservedForLogs;
    this.#clock = clock;
    this.#throttledLog = throttledLog;
  }

  /**
   * Takes a slot.
   *
   * @throws Refusal 503 if all are taken, and nobody holds more than who asks
   */
  take(owner: StreamOwner, { isLog }: { readonly isLog: boolean }): StreamSlot {
    const slot = new HeldSlot(owner, { isLog, nowMs: this.#clock.monotonic() });
    this.#makeRoom(slot);
    this.#held.add(slot);
    return {
      signal: slot.controller.signal,
      touch: () => {
        const nowMs = this.#clock.monotonic();
        slot.lastActiveMs = () => nowMs;
      },
      follow: (lastActiveMs) => (slot.lastActiveMs = lastActiveMs),
      [Symbol.dispose]: () => {
        this.#held.delete(slot);
        this.#ending.delete(slot);
      },
    };
  }

  #makeRoom(slot: HeldSlot): void {
    const all = [...this.#held];
    const others = all.filter(({ isLog }) => !isLog);
    const isFull = all.length >= this.#max;
    if (!isFull && (slot.isLog || others.length < this.#maxOthers)) return;
    // Where only logs may have the rest, the end of a log makes no room for anything else.
    const victim = this.#victim(isFull ? all : others, slot);
    const { user, params } = (victim ?? slot).owner;
    const fields = { limit: "maxStreams", max: this.#max, user: user.name, pod: `${params["namespace"]}/${params["pod"]}` };
    const tooManyEnd = !slot.isLog && this.#ending.size >= Math.max(1, this.#max / endingPart);
    if (!victim || tooManyEnd) {
      this.#throttledLog.log("warn", "maxStreams", fields, "a stream is refused: too many are open");
      throw new Refusal(503, `too many streams are open, at most ${this.#max}`, { headers: { "retry-after": "5" } });
    }
    this.#held.delete(victim);
    this.#ending.add(victim);
    this.#throttledLog.log("warn", "evicted", fields, "a stream is evicted: too many are open, and its caller holds most");
    victim.controller.abort(
      new UnavailableError(`evicted: ${this.#max} streams are open, and this one was the idlest of the caller that holds most of them`),
    );
  }

  #victim(candidates: readonly HeldSlot[], newcomer: HeldSlot): HeldSlot | undefined {
    let left = candidates;
    let isOwn = true;
    for (const [level, own] of newcomer.path.entries()) {
      const counts = new Map<string, number>();
      for (const { path } of left) counts.set(path[level] ?? "", (counts.get(path[level] ?? "") ?? 0) + 1);
      const [heaviest, count] = [...counts].reduce((most, each) => (each[1] > most[1] ? each : most), ["", 0]);
      // One who holds as much as the newcomer will does not give way, or the two would end each other's streams in turn.
      if (isOwn && count <= (counts.get(own) ?? 0) + 1) left = left.filter(({ path }) => path[level] === own);
      else {
        isOwn = false;
        left = left.filter(({ path }) => path[level] === heaviest);
      }
    }
    const idlest = left.toSorted((a, b) => a.lastActiveMs() - b.lastActiveMs())[0];
    if (isOwn && idlest && this.#clock.monotonic() - idlest.lastActiveMs() < ownIdleMs) return undefined;
    return idlest;
  }
}
