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
  /** Pods that are being created or ended, about which a list is out of date. */
  readonly isBusy: (uid: string) => boolean;
  /** Called with changed pods and with pods that are gone. */
  readonly onUpdate: (update: PodUpdate) => void;
  /** Called with each pod in the list, and awaited. */
  readonly onSeen: (observed: Observation, signal: AbortSignal) => Promise<void>;
  /** Called when a second object is found for the same pod. */
  readonly onDuplicate: (observed: Observation, signal: AbortSignal) => Promise<void>;
  /** Called with the unreadable objects of each complete list. */
  readonly onListed: (unread: Listing["unread"], signal: AbortSignal) => Promise<void>;
}

/** Polls all pods with one list and reports changes. */
export class PodWatch {
  readonly #options: PodWatchOptions;
  readonly #disposal = new AbortController();
  readonly #told = new Map<string, PodUpdate>();
  #wake = new AbortController();
  #running: Promise<void> | undefined;
  #quiet = 0;
  #failures = 0;
  #hasListed = false;
  /** Pods reported as gone since the list was requested, which may still hold them. */
  #goneSince = new Set<string>();

  constructor(options: PodWatchOptions) {
    this.#options = options;
  }

  /** Starts polling. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Polls soon, and often for a while, because a pod was created or ended. */
  kick(): void {
    this.#quiet = 0;
    this.#wake.abort();
  }

  /** Reports a pod if its status differs from the last report. */
  tell(uid: string): void {
    const pod = this.#options.registry.pod(uid);
    if (!pod || this.#disposal.signal.aborted) return;
    const update = { ref: pod.ref, status: pod.status };
    if (isDeepStrictEqual(this.#told.get(uid), update)) return;
    this.#told.set(uid, update);
    this.#quiet = 0;
    this.#options.onUpdate({ ref: pod.ref, status: structuredClone(pod.status) });
  }

  /** Reports that a pod is gone. */
  tellGone(ref: PodRef): void {
    this.#told.delete(ref.uid);
    this.#goneSince.add(ref.uid);
    if (!this.#disposal.signal.aborted) this.#options.onUpdate({ ref, gone: true });
  }

  /** Stops polling. */
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
        logger.warn({ err, attempt: this.#failures }, "the pods in Zun could not be listed; their last known state stays in use");
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
    // Unreadable pods exist and keep their last known state.
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

  /** A failed look at one pod does not hold up the others. */
  async #alone({ namespace, name }: PodRef, work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    try {
      await work();
    } catch (error) {
      signal.throwIfAborted();
      this.#options.logger.debug(
        { pod: `${namespace}/${name}`, err: messageOf(error) },
        "a pod in Zun could not be read; its last known state stays in use",
      );
    }
  }

  async #see(observed: Observation, signal: AbortSignal): Promise<void> {
    const { registry, finder, isBusy } = this.#options;
    const { uid } = observed.labels.ref;
    // Creation and deletion look at the pod themselves, which is more recent than a list.
    if (isBusy(uid) || this.#goneSince.has(uid)) return;
    const known = registry.observed(uid);
    const isKnownEnd = known?.uuid === observed.uuid && known.status === observed.status;
    if (needsLook(observed) && isKnownEnd) return;
    // The list is older than the last look at the pod.
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

  /** Of several objects of a pod the known one is kept, else the oldest. */
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
