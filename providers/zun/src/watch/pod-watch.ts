import type { Clock, Random } from "@virtual-kubelet/clock";
import type { Logger, PodRef, PodUpdate } from "@virtual-kubelet/core";
import { messageOf } from "@virtual-kubelet/errdefs";
import { isDeepStrictEqual } from "node:util";
import { needsLook, type Listing, type PodFinder } from "../lifecycle/pod-finder.ts";
import { oldestFirst, type Observation } from "../status/observation.ts";
import type { PodRegistry } from "../status/pod-registry.ts";
import { pollDelayMs } from "./poll-delay.ts";

export interface PodWatchOptions {
  readonly finder: PodFinder;
  readonly registry: PodRegistry;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly intervalMs: number;
  /** Spreads the lists of many nodes. */
  readonly random: Random;
  /** Pods that are being made, or ended: a list does not know better. */
  readonly isBusy: (uid: string) => boolean;
  /** Told of the pods, and of those that are gone. */
  readonly onUpdate: (update: PodUpdate) => void;
  /** Told of each pod in the list; what it does is waited for. */
  readonly onSeen: (observed: Observation, signal: AbortSignal) => Promise<void>;
  /** Told of a second object of one pod's. */
  readonly onDuplicate: (observed: Observation, signal: AbortSignal) => Promise<void>;
  /** Told when a whole list has been read, with what in it could not be. */
  readonly onListed: (unread: Listing["unread"], signal: AbortSignal) => Promise<void>;
}

/** Looks after the pods with one list for all of them, and tells what has changed. */
export class PodWatch {
  readonly #options: PodWatchOptions;
  readonly #disposal = new AbortController();
  readonly #told = new Map<string, PodUpdate>();
  #wake = new AbortController();
  #running: Promise<void> | undefined;
  #quiet = 0;
  #failures = 0;
  #hasListed = false;
  /** Pods that have been told to be gone since the list was asked for: it may still hold them. */
  #goneSince = new Set<string>();

  constructor(options: PodWatchOptions) {
    this.#options = options;
  }

  /** Begins to look. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Something was made or ended: look soon, and often for a while. */
  kick(): void {
    this.#quiet = 0;
    this.#wake.abort();
  }

  /** Tells of a pod if its status is another than was told last. */
  tell(uid: string): void {
    const pod = this.#options.registry.pod(uid);
    if (!pod || this.#disposal.signal.aborted) return;
    const update = { ref: pod.ref, status: pod.status };
    if (isDeepStrictEqual(this.#told.get(uid), update)) return;
    this.#told.set(uid, update);
    this.#quiet = 0;
    this.#options.onUpdate({ ref: pod.ref, status: structuredClone(pod.status) });
  }

  /** Tells that a pod is gone. */
  tellGone(ref: PodRef): void {
    this.#told.delete(ref.uid);
    this.#goneSince.add(ref.uid);
    if (!this.#disposal.signal.aborted) this.#options.onUpdate({ ref, gone: true });
  }

  /** Ends the looking. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposal.abort(new Error("the provider is disposed"));
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, logger, intervalMs, random } = this.#options;
    const { signal } = this.#disposal;
    while (!signal.aborted) {
      try {
        await this.#look(signal);
        this.#failures = 0;
        this.#quiet++;
      } catch (err) {
        if (signal.aborted) return;
        this.#failures++;
        logger.warn({ err, attempt: this.#failures }, "listing the pods in Zun failed; what is known of them stays");
      }
      const delayMs = pollDelayMs({ intervalMs, failures: this.#failures, quiet: this.#quiet, jitter: random.next() });
      // A wake during the look above counts as well.
      await clock.sleep(delayMs, AbortSignal.any([signal, this.#wake.signal])).catch(() => {});
      this.#wake = new AbortController();
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { finder, registry, onListed, onSeen } = this.#options;
    const before = new Set(registry.all().map(({ labels }) => labels.ref.uid));
    const withCapsules = !this.#hasListed || registry.all().some(({ kind }) => kind === "capsule");
    this.#goneSince = new Set();
    const { pods, unread } = await finder.list(signal, { withCapsules });
    const listed = await this.#withoutDuplicates(pods, signal);
    this.#hasListed = true;
    for (const observed of listed) await this.#alone(observed.labels.ref, () => this.#see(observed, signal), signal);
    // What cannot be read is there, and stays as it was known last.
    const there = new Set([...listed.map(({ labels }) => labels.ref.uid), ...unread.flatMap(({ ref }) => ref?.uid ?? [])]);
    for (const uid of before) {
      const known = there.has(uid) ? undefined : registry.observed(uid);
      if (known) await this.#alone(known.labels.ref, () => this.#checkGone(uid, signal), signal);
    }
    await onListed(unread, signal);
    for (const { labels } of listed) {
      const known = registry.observed(labels.ref.uid);
      if (known && !this.#options.isBusy(labels.ref.uid)) await onSeen(known, signal);
    }
  }

  /** One pod that cannot be looked at does not keep the others. */
  async #alone({ namespace, name }: PodRef, work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    try {
      await work();
    } catch (error) {
      signal.throwIfAborted();
      this.#options.logger.debug(
        { pod: `${namespace}/${name}`, err: messageOf(error) },
        "looking at a pod in Zun failed; it stays as it was known",
      );
    }
  }

  async #see(observed: Observation, signal: AbortSignal): Promise<void> {
    const { registry, finder, isBusy } = this.#options;
    const { uid } = observed.labels.ref;
    // Who makes or ends a pod looks at it more closely than a list does.
    if (isBusy(uid) || this.#goneSince.has(uid)) return;
    const known = registry.observed(uid);
    const isKnownEnd = known?.uuid === observed.uuid && known.status === observed.status;
    if (needsLook(observed) && isKnownEnd) return;
    // The list is behind what a closer look has shown.
    if (observed.status === "Running" && (known?.status === "Stopped" || known?.status === "Restarting"))
      return this.#note(await finder.look(observed, signal));
    this.#note(needsLook(observed) ? await finder.look(observed, signal) : observed);
  }

  #note(observed: Observation | undefined): void {
    if (!observed || this.#options.isBusy(observed.labels.ref.uid) || this.#goneSince.has(observed.labels.ref.uid)) return;
    this.#options.registry.note(observed);
    this.tell(observed.labels.ref.uid);
  }

  async #checkGone(uid: string, signal: AbortSignal): Promise<void> {
    const { registry, finder, isBusy } = this.#options;
    const known = registry.observed(uid);
    if (!known || isBusy(uid)) return;
    const observed = await finder.look(known, signal);
    if (observed) return this.#note(observed);
    if (isBusy(uid) || registry.observed(uid)?.uuid !== known.uuid) return;
    registry.forget(uid);
    this.tellGone(known.labels.ref);
  }

  /** The one that is known stays where a pod has several, else the oldest. */
  async #withoutDuplicates(listed: readonly Observation[], signal: AbortSignal): Promise<readonly Observation[]> {
    const { registry, onDuplicate } = this.#options;
    const first = new Map<string, Observation>();
    const isKnown = ({ uuid, labels }: Observation): boolean => registry.observed(labels.ref.uid)?.uuid === uuid;
    for (const observed of oldestFirst(listed).toSorted((a, b) => Number(isKnown(b)) - Number(isKnown(a)))) {
      const { ref } = observed.labels;
      if (first.has(ref.uid)) await this.#alone(ref, () => onDuplicate(observed, signal), signal);
      else first.set(ref.uid, observed);
    }
    return [...first.values()];
  }
}
