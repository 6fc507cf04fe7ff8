import type { Clock } from "@virtual-kubelet/clock";
import type { ProviderHost } from "@virtual-kubelet/core";
import type { BackendLimits } from "../backend/backend-limits.ts";
import type { PodTable } from "../pods/pod-table.ts";
import { lookIntervals, nextPauseMs, type LookIntervals } from "./schedule.ts";

export interface LookPlanOptions<Remote, Memory> {
  readonly table: PodTable<Remote, Memory>;
  readonly limits: BackendLimits;
  readonly clock: Clock;
  readonly random: ProviderHost["random"];
  /** Milliseconds between lists while something changes. */
  readonly pollIntervalMs: number;
  /** Whether a pod's object still waits for its `settle`, and so for a look. */
  readonly isUnsettled: (uid: string) => boolean;
}

/** Time of the next look at a pod, and the pause before it. */
interface Look {
  readonly dueMs: number;
  readonly pauseMs: number;
}

/** When each pod is looked at next. Pauses grow while a pod stays as it is. */
export class LookPlan<Remote, Memory> {
  readonly #options: LookPlanOptions<Remote, Memory>;
  readonly #looks = new Map<string, Look>();
  /** Pods that are being looked at: the value says whether another look has been asked for in the meantime. */
  readonly #looking = new Map<string, boolean>();

  constructor(options: LookPlanOptions<Remote, Memory>) {
    this.#options = options;
  }

  has(uid: string): boolean {
    return this.#looks.has(uid);
  }

  /** Plans the next look with the shortest pause, because the pod has changed. */
  restart(uid: string): void {
    this.#looks.delete(uid);
    this.plan(uid);
  }

  /** Plans the next look. @param isFailed - whether the object could not be described */
  plan(uid: string, isFailed = false): void {
    const { table, clock, random, isUnsettled } = this.#options;
    const state = table.get(uid);
    const before = this.#looks.get(uid);
    if (!state) return;
    const intervals = this.#intervals();
    const mustLook = (isFailed || isUnsettled(uid)) && state.kind === "present";
    const { firstMs, changingMs } = intervals;
    const soonMs = mustLook ? Math.max(firstMs, Math.min((before?.pauseMs ?? 0) * 1.5, changingMs)) : undefined;
    const pauseMs = soonMs ?? nextPauseMs(state, before?.pauseMs, intervals);
    if (pauseMs === undefined) {
      this.#looks.delete(uid);
      return;
    }
    const jittered = pauseMs * (0.8 + random.next() * 0.4);
    const nowMs = clock.monotonic();
    // The kill follows at once when the grace has passed.
    const deadlineMs =
      state.kind === "deleting" && state.deletion.deadlineMs > nowMs ? state.deletion.deadlineMs : Number.POSITIVE_INFINITY;
    this.#looks.set(uid, { dueMs: Math.min(nowMs + jittered, deadlineMs), pauseMs });
  }

  /** Puts a look off: an object that was seen unchanged needs none before its pause has passed again. */
  postpone(uid: string): void {
    const look = this.#looks.get(uid);
    if (!look) return this.plan(uid);
    const dueMs = this.#options.clock.monotonic() + look.pauseMs;
    if (look.dueMs < dueMs) this.#looks.set(uid, { ...look, dueMs });
  }

  /** Plans a look for a pod that was changed. */
  lookSoon(uid: string): void {
    this.restart(uid);
    const look = this.#looks.get(uid);
    const soonMs = this.#options.clock.monotonic() + this.firstMs;
    // The interval of an object that does not change is long, and repeated calls would put its look off for ever.
    if (look && look.dueMs > soonMs) this.#looks.set(uid, { ...look, dueMs: soonMs });
  }

  /** Makes a look due; the pauses begin at the shortest again. */
  lookNow(uid: string): void {
    this.#makeDue(uid, 0);
  }

  /** Makes a look due; the pauses go on growing. */
  lookAgain(uid: string): void {
    this.#makeDue(uid, this.#looks.get(uid)?.pauseMs ?? 0);
  }

  /** Notes that a look has begun. */
  begin(uid: string): void {
    this.#looking.set(uid, false);
  }

  /** Notes that a look has ended, and plans another one if one was asked for in the meantime. */
  end(uid: string): void {
    const isAskedAgain = this.#looking.get(uid);
    this.#looking.delete(uid);
    if (isAskedAgain && this.#options.table.get(uid)) this.lookAgain(uid);
  }

  forget(uid: string): void {
    this.#looks.delete(uid);
  }

  /**
   * Pods that are due, the longest due first. Others that are due soon fill the last batch, so that a thousand pods do not cost a thousand calls.
   *
   * @param batches - largest number of batches that they may fill
   */
  due(batches: number): readonly string[] {
    const { table, clock, limits } = this.#options;
    const { describeBatch } = limits;
    const nowMs = clock.monotonic();
    const looks = [...this.#looks].filter(([uid]) => !this.#looking.has(uid)).toSorted(([, a], [, b]) => a.dueMs - b.dueMs);
    const later = looks.findIndex(([, { dueMs }]) => dueMs > nowMs);
    const count = Math.min(later === -1 ? looks.length : later, describeBatch * batches);
    const room = Math.ceil(count / describeBatch) * describeBatch - count;
    const soon = looks
      .slice(count)
      .filter(([uid, { dueMs, pauseMs }]) => table.get(uid)?.kind === "present" && dueMs - nowMs <= pauseMs / 2)
      .slice(0, room);
    return [...looks.slice(0, count), ...soon].map(([uid]) => uid);
  }

  /** Monotonic time at which the next look is due; infinity: none is planned. */
  nextDueMs(): number {
    let nextMs = Number.POSITIVE_INFINITY;
    for (const [uid, { dueMs }] of this.#looks) if (!this.#looking.has(uid)) nextMs = Math.min(nextMs, dueMs);
    return nextMs;
  }

  /** The shortest pause, in milliseconds. */
  get firstMs(): number {
    return this.#intervals().firstMs;
  }

  #makeDue(uid: string, pauseMs: number): void {
    this.#looks.set(uid, { dueMs: Number.NEGATIVE_INFINITY, pauseMs });
    // The answer that is under way may be older.
    if (this.#looking.has(uid)) this.#looking.set(uid, true);
  }

  #intervals(): LookIntervals {
    return lookIntervals(this.#options.pollIntervalMs, this.#looks.size, this.#options.limits);
  }
}
