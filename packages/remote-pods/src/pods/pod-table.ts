import type { Clock } from "@virtual-kubelet/clock";
import type { PodRef, PodUpdate, ProviderPod, ProviderPodStatus } from "@virtual-kubelet/core";
import { isDeepStrictEqual } from "node:util";
import type { BackendLimits } from "../backend/backend-limits.ts";
import { idOf, objectOf, identityOf, type KnownObject, type PodState } from "../state/pod-state.ts";
import { podStep, type PodEvent } from "../state/pod-step.ts";
import { statusOf } from "../state/pod-status.ts";

/** Maximum number of pods that are remembered as gone, so that memory stays bounded. */
const maxGone = 10_000;

export interface PodTableOptions<Remote, Memory> {
  readonly clock: Clock;
  readonly limits: Pick<BackendLimits, "visibleAfterMs" | "keepsEndedMs">;
  /** Adds to a status what the back end does not tell, such as results of probes. */
  readonly complete: (ref: PodRef, status: ProviderPodStatus) => ProviderPodStatus;
  /** Called after each change of a pod's state. */
  readonly onChange: (uid: string, after: PodState<Remote, Memory> | undefined, before: PodState<Remote, Memory> | undefined) => void;
}

/** State of each pod of the node by UID, and what was reported of it. Only {@link podStep} changes a state. */
export class PodTable<Remote, Memory> {
  readonly #options: PodTableOptions<Remote, Memory>;
  readonly #states = new Map<string, PodState<Remote, Memory>>();
  readonly #uidById = new Map<string, string>();
  readonly #gone = new Set<string>();
  readonly #reported = new Map<string, PodUpdate>();
  #listener: ((update: PodUpdate) => void) | undefined;

  constructor(options: PodTableOptions<Remote, Memory>) {
    this.#options = options;
  }

  /** Sets the listener for changes. `undefined`: nobody listens. */
  listen(listener: ((update: PodUpdate) => void) | undefined): void {
    this.#listener = listener;
  }

  get(uid: string): PodState<Remote, Memory> | undefined {
    return this.#states.get(uid);
  }

  /** State of the pod that has the object of this id. */
  byId(id: string): PodState<Remote, Memory> | undefined {
    const uid = this.#uidById.get(id);
    return uid === undefined ? undefined : this.#states.get(uid);
  }

  /** All pods, with those that are gone. */
  all(): IterableIterator<[string, PodState<Remote, Memory>]> {
    return this.#states.entries();
  }

  /** Object of a pod; `undefined` if there is none, or it is unknown. */
  objectOf(uid: string): KnownObject<Remote, Memory> | undefined {
    return objectOf(this.#states.get(uid));
  }

  /** Applies an event and reports what it changes. */
  dispatch(uid: string, event: PodEvent<Remote, Memory>): void {
    const { clock, limits, onChange } = this.#options;
    const before = this.#states.get(uid);
    const after = podStep(before, event, { nowMs: clock.monotonic(), limits });
    if (after === before) return;
    this.#index(uid, before, after);
    if (after) this.#states.set(uid, after);
    else {
      this.#states.delete(uid);
      this.#reported.delete(uid);
    }
    onChange(uid, after, before);
    this.report(uid);
  }

  /** Reports the pod's status if it differs from the last report. */
  report(uid: string): void {
    const state = this.#states.get(uid);
    if (!state) return;
    const { ref } = identityOf(state);
    if (state.kind === "gone") return this.#reportGone(ref);
    const status = this.#statusOf(state);
    if (!status) return;
    const update: PodUpdate = { ref, status };
    if (isDeepStrictEqual(this.#reported.get(ref.uid), update)) return;
    this.#reported.set(ref.uid, update);
    this.#listener?.(structuredClone(update));
  }

  /** The pod as last known; `undefined` if it is gone, or if nothing is known of its status. */
  pod(uid: string): ProviderPod | undefined {
    const state = this.#states.get(uid);
    const status = state && this.#statusOf(state);
    if (!state || !status) return undefined;
    const { ref, owner } = identityOf(state);
    return { ref, owner, createdAt: objectOf(state)?.createdAt, status: structuredClone(status) };
  }

  #statusOf(state: PodState<Remote, Memory>): ProviderPodStatus | undefined {
    const status = statusOf(state);
    return status && this.#options.complete(identityOf(state).ref, status);
  }

  #reportGone(ref: PodRef): void {
    if (this.#gone.has(ref.uid)) return;
    this.#gone.add(ref.uid);
    this.#reported.delete(ref.uid);
    const [oldest] = this.#gone;
    if (this.#gone.size > maxGone && oldest !== undefined) {
      this.#gone.delete(oldest);
      const keptId = idOf(this.#states.get(oldest));
      if (keptId !== undefined) this.#uidById.delete(keptId);
      this.#states.delete(oldest);
    }
    this.#listener?.({ ref, gone: true });
  }

  #index(uid: string, before: PodState<Remote, Memory> | undefined, after: PodState<Remote, Memory> | undefined): void {
    const [oldId, newId] = [idOf(before), idOf(after)];
    if (after?.kind !== "gone") this.#gone.delete(uid);
    if (oldId === newId) return;
    if (oldId !== undefined) this.#uidById.delete(oldId);
    if (newId !== undefined) this.#uidById.set(newId, uid);
  }
}
