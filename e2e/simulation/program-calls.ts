import type { VirtualClock } from "@virtual-kubelet/clock";
import type { PodRef } from "@virtual-kubelet/core";
import type { Pod } from "@virtual-kubelet/kube-client";
import type { Invariants } from "./invariants.ts";
import type { CallWatch, ChangeMethod } from "./model-provider.ts";

/** Facts about the program whose calls are observed. */
export interface ProgramFacts {
  readonly startedMs: number;
  /** How far its wall clock is ahead of the cluster's, in milliseconds. */
  readonly skewMs: number;
}

/** Seconds and milliseconds are rounded on the way, and the API's times have whole seconds. */
const roundingMs = 2_000;

/** How late the program may hear of a deletion where the API server answers. */
const seenMs = 3_000;

/** Watches over the calls that one program makes to its provider. */
export class ProgramCalls implements CallWatch {
  readonly #invariants: Invariants;
  readonly #clock: VirtualClock;
  readonly #facts: ProgramFacts;
  readonly #calls = new Map<string, ChangeMethod>();
  readonly #endedMs = new Map<string, number>();
  readonly #deleteCalledMs = new Map<string, number>();
  readonly #deleted = new Set<string>();
  /** Pods that it has created, so that it heeds reports of them. */
  readonly #created = new Set<string>();
  /** Pods that have ended for good by their last report. */
  readonly #reportedEnds = new Set<string>();
  /** By pod, the deadline that the first deletePod of a deletion gave it. */
  readonly #deadlines = new Map<string, number>();
  #lostNode = false;
  #heldSinceMs = Infinity;

  constructor(invariants: Invariants, clock: VirtualClock, facts: ProgramFacts) {
    this.#invariants = invariants;
    this.#clock = clock;
    this.#facts = facts;
  }

  /** When the pod's last call came back, and now while one is under way; monotonic milliseconds. */
  busyMs(uid: string): number {
    return this.#calls.has(uid) ? this.#clock.monotonic() : (this.#endedMs.get(uid) ?? 0);
  }

  /** The calls that have not come back, a sentence for each. */
  get underWay(): string[] {
    return [...this.#calls].map(([uid, method]) => `${method} of UID ${uid} is under way`);
  }

  /** When deletePod was last called for the pod. */
  deleteCalledMs(uid: string): number | undefined {
    return this.#deleteCalledMs.get(uid);
  }

  /** Since when the program has held the node, in monotonic milliseconds. */
  get heldSinceMs(): number {
    return this.#heldSinceMs;
  }

  /** The program has written the node's Lease. */
  onHeld(): void {
    this.#heldSinceMs = Math.min(this.#heldSinceMs, this.#clock.monotonic());
  }

  /** The program has read that another instance holds its node. */
  onLostNode(): void {
    this.#lostNode = true;
  }

  onCall(method: ChangeMethod, ref: PodRef, graceSeconds: number | undefined): void {
    const { name, uid } = ref;
    const invariants = this.#invariants;
    if (this.#lostNode) invariants.report("I13", `${method} of ${name} is called by an instance that has lost its node`);
    invariants.count(uid);
    const other = this.#calls.get(uid);
    if (other) invariants.report("I2", `${method} of ${name} is called while its ${other} has not come back`);
    this.#calls.set(uid, method);
    const isForgotten = this.#deleted.has(uid) || (invariants.deletedMs(uid) ?? Infinity) < this.#facts.startedMs;
    if (method === "createPod" && isForgotten) invariants.report("I2", `pod ${name} is created after it was deleted`);
    if (method === "createPod") {
      if (this.#reportedEnds.has(uid)) invariants.report("I16", `pod ${name} is created after its end was reported`);
      this.#created.add(uid);
    }
    if (method !== "deletePod") return;
    this.#deleteCalledMs.set(uid, this.#clock.monotonic());
    invariants.checkWanted(ref, "deleted");
    const pod = invariants.pod(uid);
    if (pod) this.#checkGrace(pod, graceSeconds ?? 0);
  }

  onCallEnd(_method: ChangeMethod, { uid }: PodRef): void {
    this.#calls.delete(uid);
    this.#endedMs.set(uid, this.#clock.monotonic());
  }

  onEffect(method: ChangeMethod, ref: PodRef): void {
    if (method !== "deletePod") return;
    this.#deleted.add(ref.uid);
    this.#invariants.onDeleteEffect(ref.uid);
  }

  onReport({ uid }: PodRef, hasEnded: boolean): void {
    if (hasEnded && this.#created.has(uid)) this.#reportedEnds.add(uid);
    else this.#reportedEnds.delete(uid);
  }

  /** Whether the pod has ended for good by its last report. */
  knowsEnd(uid: string): boolean {
    return this.#reportedEnds.has(uid);
  }

  onEnvironment({ name }: PodRef, names: readonly string[]): void {
    const isRight = names.includes("OWN_SERVICE_HOST") && !names.some((variable) => variable.startsWith("FOREIGN_"));
    if (!isRight)
      this.#invariants.report("I15", `pod ${name} is given ${names.filter((variable) => variable.endsWith("_HOST")).join(", ")}`);
  }

  /** A pod gets the rest of its grace period: not less, and elapsed time is not granted again. */
  #checkGrace(pod: Pod, graceSeconds: number): void {
    const { name, uid = "", deletionTimestamp, deletionGracePeriodSeconds = 0 } = pod.metadata ?? {};
    const nowMs = this.#clock.monotonic();
    const told = `pod ${name} is given ${graceSeconds} s to end`;
    const grace = this.#invariants.graceOf(uid);
    if (grace && graceSeconds > grace.longest) this.#invariants.report("I12", `${told}, of a grace of ${grace.longest} s`);
    const { sinceMs, endMs, leftMs } = this.#dueEnd(pod);
    // What was deleted before the program saw it is dated by the cluster's clock, and read on its own.
    const skewMs = Math.max(0, this.#facts.skewMs);
    // A deletion does not prolong the end that an exceeded deadline, or a final phase, has begun.
    const begunLeftMs = (this.#deadlines.get(`${uid} ending`) ?? Infinity) - nowMs;
    if (graceSeconds * 1000 < Math.min(leftMs, begunLeftMs) - skewMs - roundingMs)
      this.#invariants.report("I12", `${told}, and has ${leftMs / 1000} s left`);
    const deadlineMs = nowMs + graceSeconds * 1000;
    const firstMs = this.#firstDeadline(`${uid} ${deletionTimestamp ? deletionGracePeriodSeconds : "ending"}`, deadlineMs);
    if (graceSeconds <= 0) return;
    if (deadlineMs > firstMs + roundingMs)
      this.#invariants.report("I12", `${told} for the second time, ${Math.round((deadlineMs - firstMs) / 1000)} s longer than at first`);
    const isSeenAtOnce = sinceMs !== undefined && sinceMs > Math.max(this.#invariants.calmSinceMs(), this.#heldSinceMs) + 30_000;
    const lateMs = deadlineMs - endMs;
    const isSettled = nowMs - (grace?.sinceMs ?? 0) > seenMs || grace?.longest === grace?.seconds;
    if (isSeenAtOnce && isSettled && lateMs > seenMs + roundingMs)
      this.#invariants.report("I12", `${told}, ${Math.round(lateMs / 1000)} s longer than was left`);
  }

  /** Since when the pod is to end, when its grace is over, and how much of it is left; in milliseconds of the monotonic clock. */
  #dueEnd({ metadata, spec }: Pod): { readonly sinceMs: number | undefined; readonly endMs: number; readonly leftMs: number } {
    const { uid = "", deletionTimestamp, deletionGracePeriodSeconds = 0 } = metadata ?? {};
    const nowMs = this.#clock.monotonic();
    const sinceMs = deletionTimestamp ? this.#invariants.deletionMs(uid) : this.#invariants.endWantedMs(uid);
    const wholeSeconds = deletionTimestamp ? deletionGracePeriodSeconds : (spec?.terminationGracePeriodSeconds ?? 30);
    // Of a pod whose own deadline has passed the program alone knows since when it is to end.
    const endMs = sinceMs === undefined ? nowMs : sinceMs + wholeSeconds * 1000;
    return { sinceMs, endMs, leftMs: deletionTimestamp ? Date.parse(deletionTimestamp) - this.#clock.now() : endMs - nowMs };
  }

  /** The earliest deadline that deletePod has given so far, this one included. */
  #firstDeadline(key: string, deadlineMs: number): number {
    const firstMs = Math.min(this.#deadlines.get(key) ?? deadlineMs, deadlineMs);
    this.#deadlines.set(key, firstMs);
    return firstMs;
  }
}
