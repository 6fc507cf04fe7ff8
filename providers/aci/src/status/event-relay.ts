import type { PodEvent, PodRef } from "@virtual-kubelet/core";
import type { ContainerGroup, GroupEvent } from "../azure/group-schema.ts";

/** Records an event on a pod. */
export type RecordEvent = (ref: PodRef, event: PodEvent) => void;

/**
 * Records Azure's events as events of the pods. Azure returns all of them with each description, so that each is recorded once, and again when
 * its count has grown. Events from before the program's start are not repeated.
 */
export class EventRelay {
  readonly #record: RecordEvent;
  readonly #sinceMs: number;
  /** Counts that were recorded, by pod and event. */
  readonly #recorded = new Map<string, Map<string, number>>();
  readonly #created = new Set<string>();

  /** @param startMs - milliseconds since the epoch */
  constructor(record: RecordEvent, startMs: number) {
    this.#record = record;
    this.#sinceMs = startMs;
  }

  /** Records all events of a pod, whatever the clocks say, because this program has created its group. */
  begin(uid: string): void {
    this.#created.add(uid);
  }

  /** Records what is new in a group. @param aheadMs - milliseconds by which Azure's clock is ahead of the node's */
  relay(ref: PodRef, { properties }: ContainerGroup, aheadMs = 0): void {
    const { instanceView, initContainers, containers } = properties;
    const sinceMs = this.#sinceMs + aheadMs;
    for (const event of instanceView?.events ?? []) this.#relay(ref, event, { container: undefined, sinceMs });
    for (const { name, properties: own } of [...(initContainers ?? []), ...containers])
      for (const event of own.instanceView?.events ?? []) this.#relay(ref, event, { container: name, sinceMs });
  }

  /** Removes what is kept of a pod that is gone. */
  forget(uid: string): void {
    this.#recorded.delete(uid);
    this.#created.delete(uid);
  }

  #relay(
    ref: PodRef,
    event: GroupEvent,
    { container, sinceMs }: { readonly container: string | undefined; readonly sinceMs: number },
  ): void {
    const { name, message, type, count, firstTimestamp, lastTimestamp } = event;
    // A reason is one word in CamelCase.
    if (!name || !/^[A-Z][A-Za-z]{0,127}$/.test(name)) return;
    const lastMs = Date.parse(lastTimestamp ?? firstTimestamp ?? "");
    if (Number.isNaN(lastMs) || (lastMs < sinceMs && !this.#created.has(ref.uid))) return;
    const recorded = this.#recorded.get(ref.uid) ?? new Map<string, number>();
    this.#recorded.set(ref.uid, recorded);
    const key = JSON.stringify([container, name, firstTimestamp, message]);
    if ((recorded.get(key) ?? 0) >= (count ?? 1)) return;
    recorded.set(key, count ?? 1);
    this.#record(ref, {
      type: type === "Warning" ? "Warning" : "Normal",
      reason: name,
      message: message ?? name,
      ...(container !== undefined && { container }),
    });
  }
}
