import type { Clock } from "@virtual-kubelet/clock";
import type { PodEvent } from "@virtual-kubelet/core";

/** Time for which events wait for their pod. */
const waitMs = 30_000;
/** Maximum number of pods with waiting events, and of events of one pod. */
const maxPods = 1_000;
const maxEvents = 16;

interface Waiting {
  readonly sinceMs: number;
  readonly events: PodEvent[];
}

/** Events of pods that are not known yet: a scheduler's event may arrive before the pod, on another watch. */
export class EarlyEvents {
  readonly #clock: Clock;
  /** By UID of the pod, the oldest first. */
  readonly #waiting = new Map<string, Waiting>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(uid: string, event: PodEvent): void {
    const nowMs = this.#clock.monotonic();
    for (const [other, { sinceMs }] of this.#waiting) {
      if (nowMs - sinceMs < waitMs && this.#waiting.size <= maxPods) break;
      this.#waiting.delete(other);
    }
    const waiting = this.#waiting.get(uid) ?? { sinceMs: nowMs, events: [] };
    if (waiting.events.length < maxEvents) waiting.events.push(event);
    this.#waiting.set(uid, waiting);
  }

  /** Returns the events of a pod that has become known, and forgets them. */
  take(uid: string): readonly PodEvent[] {
    const { events = [] } = this.#waiting.get(uid) ?? {};
    this.#waiting.delete(uid);
    return events;
  }
}
