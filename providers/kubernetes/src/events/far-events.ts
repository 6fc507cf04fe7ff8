import { LinkedSignal } from "@virtual-kubelet/async";
import type { Clock, Random } from "@virtual-kubelet/clock";
import type { PodEvent, PodRef } from "@virtual-kubelet/core";
import { DeadlineExceededError, isForbidden, messageOf, UnavailableError } from "@virtual-kubelet/errdefs";
import { backoffMs, isGone, resources, type CoreEvent, type Logger, type WatchEvent } from "@virtual-kubelet/kube-client";
import type { FarCluster } from "../far/far-cluster.ts";
import { ownPodRef } from "../identity/own-pod.ts";
import type { FarOwner } from "../identity/tags.ts";
import { EarlyEvents } from "./early-events.ts";
import { podEventOf } from "./pod-event.ts";

/** Duration of one watch, after which another begins. */
const watchSeconds = 300;
/** Time beyond {@link watchSeconds} after which a connection counts as dead. */
const marginMs = 15_000;
/** Time for which a missing right is not tried again. */
const forbiddenMs = 300_000;
const backoff = { initialMs: 1_000, maxMs: 60_000 } as const;

const fieldSelector = "involvedObject.kind=Pod";
/** End of the names of far pods. Events of other pods of the far cluster, of which there may be many, are not looked at. */
const farPodNames = /-[0-9a-z]{10}$/;

/** What {@link FarEvents} needs. */
export interface FarEventsOptions {
  readonly far: Pick<FarCluster, "connection" | "history" | "pods">;
  /** The only far namespace; `undefined`: all. */
  readonly namespace: string | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** A virtual node to whose pods events are passed on. */
export interface EventReader {
  readonly owner: FarOwner;
  onEvent(pod: PodRef, event: PodEvent): void;
  /** The far cluster does not allow to read events. Called once. */
  onForbidden(message: string): void;
}

/**
 * Events of far pods, from one watch for all virtual nodes that use a far cluster, which runs while one of them reads. It begins with what happens
 * from then on, and goes on where it was after an interruption, so that no event is passed on twice. If the far cluster no longer has what happened
 * meanwhile, that is left out.
 */
export class FarEvents {
  readonly #options: FarEventsOptions;
  readonly #readers = new Set<EventReader>();
  readonly #early: EarlyEvents;
  /** Readers that know that the right is missing. */
  readonly #told = new WeakSet<EventReader>();
  #running: { readonly abort: AbortController; readonly done: Promise<void> } | undefined;

  constructor(options: FarEventsOptions) {
    this.#options = options;
    this.#early = new EarlyEvents(options.clock);
  }

  /** Passes events on until the result is disposed. */
  read(reader: EventReader): AsyncDisposable {
    this.#readers.add(reader);
    if (!this.#running) {
      const abort = new AbortController();
      this.#running = { abort, done: this.#run(abort.signal) };
    }
    return {
      [Symbol.asyncDispose]: async () => {
        this.#readers.delete(reader);
        if (this.#readers.size > 0) return;
        const running = this.#running;
        this.#running = undefined;
        running?.abort.abort(new Error("nobody reads the events of the far cluster"));
        await running?.done;
      },
    };
  }

  /** Follows the events until aborted. Never rejects. */
  async #run(signal: AbortSignal): Promise<void> {
    const { far, clock, random, logger } = this.#options;
    using _pods = far.pods.subscribe((change) => {
      if (change.type === "added") for (const event of this.#early.take(change.uid)) this.#pass(change.uid, event);
    });
    const position = { version: undefined as string | undefined };
    let restored = new AbortController();
    using _restored = far.history.onRestored(() => {
      position.version = undefined;
      restored.abort(new UnavailableError("watch events: the far cluster is older than it was"));
    });
    for (let failures = 0; !signal.aborted;) {
      let pauseMs;
      try {
        restored = new AbortController();
        await this.#watch(position, AbortSignal.any([signal, restored.signal]));
        failures = 0;
        pauseMs = backoffMs(backoff, 1, random);
      } catch (error) {
        if (signal.aborted) return;
        if (isGone(error)) position.version = undefined;
        pauseMs = backoffMs(backoff, ++failures, random);
        if (isForbidden(error)) {
          pauseMs = forbiddenMs;
          position.version = undefined;
          this.#tellForbidden(messageOf(error));
        }
        logger.debug({ err: messageOf(error) }, "the events of the far cluster are not followed for a while");
      }
      await clock.sleep(pauseMs, signal).catch(() => {});
    }
  }

  /** Follows the events for one watch. @param position - where the watch begins, and has come to */
  async #watch(position: { version: string | undefined }, signal: AbortSignal): Promise<void> {
    const { far, namespace, clock } = this.#options;
    const { client } = far.connection;
    using linked = new LinkedSignal(signal);
    const late = new DeadlineExceededError("watch events: the connection is silent and counts as dead");
    using _timer = clock.setTimer(watchSeconds * 1000 + marginMs, () => linked.abort(late));
    const call = { signal: linked.signal };
    position.version ??= (await client.list(resources.events, { namespace, fieldSelector, limit: 1 }, call)).resourceVersion;
    const query = {
      namespace,
      fieldSelector,
      resourceVersion: position.version,
      allowWatchBookmarks: true,
      timeoutSeconds: watchSeconds,
    };
    for await (const change of await client.watch(resources.events, query, { ...call, managedFields: "drop" })) {
      if (change.type === "ERROR") {
        if (change.object.code === 410) position.version = undefined;
        throw new UnavailableError(`watch events: ${change.object.message ?? change.object.reason ?? "the far cluster ended it"}`);
      }
      this.#take(change);
      position.version = change.object.metadata?.resourceVersion ?? position.version;
    }
  }

  #tellForbidden(message: string): void {
    for (const reader of this.#readers) {
      if (!this.#told.has(reader)) reader.onForbidden(message);
      this.#told.add(reader);
    }
  }

  #take({ type, object }: Exclude<WatchEvent<CoreEvent>, { type: "ERROR" }>): void {
    if (type !== "ADDED" && type !== "MODIFIED") return;
    const { uid, name } = object.involvedObject;
    const event = podEventOf(object);
    if (!event || !uid || !farPodNames.test(name ?? "")) return;
    if (this.#options.far.pods.get(uid)) this.#pass(uid, event);
    else this.#early.add(uid, event);
  }

  #pass(farUid: string, event: PodEvent): void {
    const pod = this.#options.far.pods.get(farUid);
    for (const { owner, onEvent } of this.#readers) {
      const ref = ownPodRef(pod?.metadata, owner);
      if (ref) onEvent(ref, event);
    }
  }
}

/** The events of all far clusters of a process. */
export class SharedEvents {
  readonly #byCluster = new WeakMap<object, FarEvents>();

  of(options: FarEventsOptions): FarEvents {
    const events = this.#byCluster.get(options.far) ?? new FarEvents(options);
    this.#byCluster.set(options.far, events);
    return events;
  }
}
