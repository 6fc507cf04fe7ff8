import type { Clock } from "@virtual-kubelet/clock";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import type { KubeletRequest } from "../routes/route.ts";
import { Refusal } from "../server/refusal.ts";
import type { ThrottledLog } from "../server/throttled-log.ts";

export interface StreamSlotsOptions {
  /** Maximum number of open logs, commands and forwards. */
  readonly max: number;
  /** Slots reserved for logs. Default: an eighth of {@link max}. */
  readonly reservedForLogs?: number | undefined;
  readonly clock: Clock;
  readonly throttledLog: ThrottledLog;
}

export type StreamOwner = Pick<KubeletRequest, "user" | "params">;

/** Slot of an open stream. Disposing it frees the slot. */
export interface StreamSlot extends Disposable {
  /** Aborts when the slot is evicted. The holder must then end the stream and dispose the slot. */
  readonly signal: AbortSignal;
  /** Records activity on the stream. */
  touch(): void;
  /** Sets a function that returns the time of the last activity on the clock's monotonic time; replaces {@link touch}. */
  follow(lastActiveMs: () => number): void;
}

/** A caller's own stream is evicted for a new one only if it has been idle for this long. */
const ownIdleMs = 60_000;

/** Divisor: while this fraction of the slots is evicted but not yet disposed, further evictions happen for logs only. */
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
 * Limits the number of open logs, commands and forwards. When all slots are taken, the largest holder gives way: the user with most
 * streams, then that user's largest namespace, then its largest pod; the idlest stream there is evicted. Some slots are reserved for logs.
 */
export class StreamSlots {
  readonly #max: number;
  readonly #maxOthers: number;
  readonly #clock: Clock;
  readonly #throttledLog: ThrottledLog;
  readonly #held = new Set<HeldSlot>();
  /** Evicted slots that have not been disposed yet. */
  readonly #ending = new Set<HeldSlot>();

  constructor({ max, reservedForLogs = Math.floor(max / 8), clock, throttledLog }: StreamSlotsOptions) {
    this.#max = max;
    this.#maxOthers = max - reservedForLogs;
    this.#clock = clock;
    this.#throttledLog = throttledLog;
  }

  /** Takes a slot. @throws Refusal 503 if all slots are taken and no other caller holds more than this one */
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
    // If only the reserved slots are free, evicting a log would not make room for anything else.
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
    this.#throttledLog.log("warn", "evicted", fields, "a stream is evicted: too many are open, and its caller has the most");
    victim.controller.abort(
      new UnavailableError(
        `evicted: ${this.#max} streams are open, and this one was idle for longest among those of the caller who has the most`,
      ),
    );
  }

  #victim(candidates: readonly HeldSlot[], newcomer: HeldSlot): HeldSlot | undefined {
    let left = candidates;
    let isOwn = true;
    for (const [level, own] of newcomer.path.entries()) {
      const counts = new Map<string, number>();
      for (const { path } of left) counts.set(path[level] ?? "", (counts.get(path[level] ?? "") ?? 0) + 1);
      const [heaviest, count] = [...counts].reduce((most, each) => (each[1] > most[1] ? each : most), ["", 0]);
      // A holder with as many streams as the newcomer will have is not evicted, or the two would evict each other in turn.
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
