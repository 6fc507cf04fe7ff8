import type { Clock, Random } from "@virtual-kubelet/clock";
import {
  Reflector,
  resources,
  type DeepReadonly,
  type KubeClient,
  type Lease,
  type Logger,
  type Metrics,
  type ServerHistory,
} from "@virtual-kubelet/kube-client";
import { groupLabel, leaseNamespace, renewalOf, type LeaseObservation } from "../node/instance.ts";

export interface LeaseWatchOptions {
  readonly client: KubeClient;
  readonly group: string;
  /** Maximum part of a time without news that counts as silence of other instances, in milliseconds. */
  readonly maxGapMs: number;
  /** Tells when everything has to be listed anew. */
  readonly history: ServerHistory;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** A Lease as it was last seen. */
export interface SeenLease {
  /** `undefined` when the Lease was deleted. */
  readonly lease: DeepReadonly<Lease> | undefined;
  readonly observation: LeaseObservation;
}

/**
 * Watches the Leases of a group, those of its nodes and of its members, and notes when each renewal was seen. Another instance's silence is
 * measured from one of these times to {@link heardMs}, the time of the last news: a watch that delivers nothing shows nobody's silence.
 */
export class LeaseWatch {
  readonly #options: LeaseWatchOptions;
  readonly #reflector: Reflector<Lease>;
  readonly #seen = new Map<string, SeenLease>();
  #heardMs: number | undefined;

  constructor(options: LeaseWatchOptions) {
    const { group, ...rest } = options;
    this.#options = options;
    this.#reflector = new Reflector<Lease>({
      ...rest,
      resource: resources.leases,
      query: { namespace: leaseNamespace, labelSelector: `${groupLabel}=${group}` },
    });
  }

  /** Monotonic time of the last change of any Lease of the group; `undefined` before the first list. */
  get heardMs(): number | undefined {
    return this.#heardMs;
  }

  /** The Lease of that name; `undefined` if the group never had one. */
  get(name: string): SeenLease | undefined {
    return this.#seen.get(name);
  }

  /** The Leases by name. */
  list(): IterableIterator<[string, SeenLease]> {
    return this.#seen.entries();
  }

  /** Forgets a Lease that was deleted. */
  forget(name: string): void {
    if (this.#seen.get(name)?.lease === undefined) this.#seen.delete(name);
  }

  /**
   * Watches until aborted; may be called once.
   *
   * @param onChange - called after each change of a Lease. It returns at once
   */
  async run(onChange: (name: string) => void, signal: AbortSignal): Promise<void> {
    using _changes = this.#reflector.store.subscribe((change) => {
      const name = change.object.metadata?.name ?? "";
      this.#note(name, change.type === "deleted" ? undefined : change.object);
      onChange(name);
    });
    const running = this.#reflector.run(signal);
    // The run fails for the same reason.
    const listed = this.#reflector.synced.then(
      () => (this.#heardMs ??= this.#options.clock.monotonic()),
      () => {},
    );
    await Promise.all([running, listed]);
  }

  #note(name: string, lease: DeepReadonly<Lease> | undefined): void {
    const nowMs = this.#options.clock.monotonic();
    this.#forgiveGap(nowMs);
    this.#heardMs = nowMs;
    const renewal = lease && renewalOf(lease);
    const previous = this.#seen.get(name);
    // A change of other fields shows no life.
    const isSame = previous !== undefined && previous.observation.renewal === renewal;
    this.#seen.set(name, { lease, observation: isSame ? previous.observation : { renewal, sinceMs: nowMs } });
  }

  /** During a gap nobody could be heard, so most of it does not count as silence. */
  #forgiveGap(nowMs: number): void {
    const gapMs = nowMs - (this.#heardMs ?? nowMs);
    const forgivenMs = gapMs - this.#options.maxGapMs;
    if (forgivenMs <= 0) return;
    this.#options.logger.info({ gapMs: Math.round(gapMs) }, "nothing was heard of the group's leases; that time does not count");
    for (const [name, { lease, observation }] of this.#seen)
      this.#seen.set(name, { lease, observation: { ...observation, sinceMs: observation.sinceMs + forgivenMs } });
  }
}
