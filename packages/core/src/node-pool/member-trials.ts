import type { Logger } from "@virtual-kubelet/kube-client";

/** A member that ends within this many durations of a Lease after its start has had a short life. */
const shortLife = 16;

/** Number of consecutive short lives from which on a new start is on trial. A single one can be an update. */
const trialFrom = 2;

/** Maximum duration of a trial, in durations of a Lease. */
const maxTrial = 8;

export interface MemberTrialsOptions {
  /** Identity of this instance, which is never on trial. */
  readonly identity: string;
  /** Duration of the nodes' Leases in milliseconds. */
  readonly durationMs: number;
  readonly logger: Logger;
}

/** Number of last starts of a member that are known again. A member can crash for months, and a backup shows one of a few starts at most. */
const maxIds = 32;

/** What an instance has seen of another member's starts. Times are monotonic, in milliseconds. */
interface Starts {
  /** Ids of the last starts: a Lease from a backup of the API server shows an earlier one. */
  readonly ids: ReadonlySet<string>;
  /** Time at which the current start was first seen. */
  readonly sinceMs: number;
  /** Number of consecutive short lives before the current start. */
  readonly shortLives: number;
  /** Time at which the member was last seen alive. */
  readonly seenMs: number;
}

/**
 * Decides which live members get nodes. A member that has ended soon after each of its last starts is on trial when it starts again: it gets its
 * share only after it has lived for a while, which doubles with each short life. Otherwise an instance that crashes again and again would move
 * its share twice each time.
 */
export class MemberTrials {
  readonly #options: MemberTrialsOptions;
  /** By the members' identities. */
  readonly #starts = new Map<string, Starts>();

  constructor(options: MemberTrialsOptions) {
    this.#options = options;
  }

  /**
   * Notes the live members at a moment.
   *
   * @param live - ids of the members' current starts, by their identities
   * @param nowMs - monotonic time
   * @returns sorted identities of the members that are not on trial
   */
  observe(live: ReadonlyMap<string, string>, nowMs: number): readonly string[] {
    const { durationMs, identity } = this.#options;
    for (const [member, startId] of live) this.#starts.set(member, this.#note(member, startId, nowMs));
    // Whoever was away for longer than a short life begins anew.
    for (const [member, { seenMs }] of this.#starts) if (nowMs - seenMs >= shortLife * durationMs) this.#starts.delete(member);
    return [...live.keys()].filter((member) => member === identity || !this.#isOnTrial(member, nowMs)).sort();
  }

  #note(member: string, startId: string, nowMs: number): Starts {
    const known = this.#starts.get(member);
    if (known?.ids.has(startId)) return { ...known, seenMs: nowMs };
    const start = { ids: new Set([startId]), sinceMs: nowMs, shortLives: 0, seenMs: nowMs };
    if (!known || known.seenMs - known.sinceMs >= shortLife * this.#options.durationMs) return start;
    const starts = { ...start, ids: new Set([...[...known.ids].slice(1 - maxIds), startId]), shortLives: known.shortLives + 1 };
    const trialMs = this.#trialMs(starts);
    if (trialMs > 0 && member !== this.#options.identity) {
      this.#options.logger.warn(
        { member, shortLives: starts.shortLives, trialMs },
        "a member of the group ended soon after each of its last starts; it gets its share when it has lived for a while",
      );
    }
    return starts;
  }

  #isOnTrial(member: string, nowMs: number): boolean {
    const starts = this.#starts.get(member);
    return starts !== undefined && nowMs - starts.sinceMs < this.#trialMs(starts);
  }

  #trialMs({ shortLives }: Starts): number {
    return shortLives < trialFrom ? 0 : Math.min(maxTrial, 2 ** (shortLives - trialFrom)) * this.#options.durationMs;
  }
}
