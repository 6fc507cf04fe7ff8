import { Signal, withDeadline } from "@virtual-kubelet/async";
import type { Clock, Random } from "@virtual-kubelet/clock";
import { ConflictError, isConflict, isNotFound, messageOf } from "@virtual-kubelet/errdefs";
import {
  backoffMs,
  resources,
  retryAfterMsOf,
  statusOf,
  type KubeClient,
  type Lease,
  type Logger,
  type Metrics,
  type OwnerReference,
} from "@virtual-kubelet/kube-client";
import { microTime } from "@virtual-kubelet/kubernetes";
import { kubeletBackoff } from "../api-server/kubelet-backoff.ts";
import {
  decideClaim,
  holderOf,
  instanceAnnotation,
  isOurs,
  leaseNamespace,
  NodeHeldError,
  startIdAnnotation,
  type Claim,
  type Instance,
  type Observation,
} from "./instance.ts";

/** Tries that follow each other at once before the back-off sets in. Source: component-helpers v0.36.3 apimachinery/lease. */
const immediateTries = 5;

/** How much longer than the interval a renewal may wait, by chance. Source: as above. */
const jitter = 0.04;

/** How often another instance's Lease is looked at: often enough to see a renewal soon, and no more. */
const watchIntervalMs = 2_000;

/** A wall clock that runs this far ahead of the monotonic one says that the machine slept. */
const suspendedMs = 2_000;

/** A Lease whose last renewal lies further in the future than this was renewed by no clock. */
const maxAheadMs = 86_400_000;

/** By how much more than the server asks for a retry may wait, by chance: many nodes are asked at once. */
const askedJitter = 0.1;

/** Of failures in a row every tenth is logged, and the first. */
const logEvery = 10;

/** What {@link LeaseController} needs. */
export interface LeaseControllerOptions {
  readonly client: KubeClient;
  readonly instance: Instance;
  /** Wait for another instance to go instead of failing. */
  readonly standby: boolean;
  /** Seconds; renewed every quarter of it. */
  readonly durationSeconds: number;
  /** Called when a renewal succeeds after others failed: the API server was away. Returns at once. */
  readonly onRecovered?: (() => void) | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/**
 * Holds the node's Lease: it tells the cluster that the node is alive, and other instances that the node is taken.
 * Every write carries the resourceVersion of what was read, so that of two instances that want the Lease one fails.
 */
export class LeaseController {
  readonly #options: LeaseControllerOptions;
  readonly #durationMs: number;
  readonly #intervalMs: number;
  readonly #wake = new Signal();
  #lease: Lease | undefined;
  #nodeUid: string | undefined;
  #renewedMs: number | undefined;

  constructor(options: LeaseControllerOptions) {
    this.#options = options;
    this.#durationMs = options.durationSeconds * 1000;
    this.#intervalMs = this.#durationMs / 4;
  }

  /** When the Lease was last renewed, on the monotonic clock; absent before it is held. */
  get renewedMs(): number | undefined {
    return this.#renewedMs;
  }

  /** Makes the node the Lease's owner, so that it goes with it; renews at once if it was another one. */
  setNodeUid(uid: string | undefined): void {
    if (uid === this.#nodeUid) return;
    this.#nodeUid = uid;
    if (uid !== undefined) this.#wake.notify();
  }

  /**
   * Takes the Lease, and with it the node. An API server that does not answer is waited for.
   *
   * @throws NodeHeldError if another instance renews it, unless standing by; `signal.reason` when aborted
   */
  async claim(signal: AbortSignal): Promise<void> {
    const { clock, logger, random } = this.#options;
    let previous: Observation | undefined;
    let seenMs = clock.monotonic();
    for (let failures = 0; ;) {
      let waitMs: number;
      try {
        const claim = await this.#tryClaim(previous, failures > 0 ? seenMs : undefined, signal);
        if (claim === "done") return;
        previous = claim.observation;
        seenMs = clock.monotonic();
        failures = 0;
        waitMs = Math.min(watchIntervalMs, claim.kind === "watch" ? claim.remainingMs : watchIntervalMs);
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof NodeHeldError) throw error;
        failures++;
        waitMs = Math.max(backoffMs(kubeletBackoff, failures, random), this.#askedMs(error, this.#durationMs));
        if (isConflict(error) && failures < immediateTries) continue;
        if (failures % logEvery === 1) {
          logger.warn({ err: messageOf(error), attempt: failures, delayMs: Math.round(waitMs) }, "cannot take the lease; trying again");
        }
      }
      await clock.sleep(waitMs, signal);
    }
  }

  /**
   * Renews the Lease until aborted, and throws `signal.reason` then. A Lease that was deleted is made again, one that
   * was edited is put right.
   *
   * @throws NodeHeldError if another instance has taken it
   */
  async run(signal: AbortSignal): Promise<never> {
    const { clock, random } = this.#options;
    for (;;) {
      const dueMs = (this.#renewedMs ?? clock.monotonic()) + this.#intervalMs * (1 + jitter * random.next());
      const isEarly = await this.#waitUntil(dueMs, signal);
      await this.#renew(isEarly ? clock.monotonic() : dueMs, signal);
    }
  }

  /** Whether no other instance has taken the Lease: asks the API server. */
  async isFreeOrOurs(signal: AbortSignal): Promise<boolean> {
    const lease = await this.#get(signal);
    return lease === undefined || isOurs(lease, this.#options.instance);
  }

  /** Deletes the Lease if it is still ours. */
  async release(signal: AbortSignal): Promise<void> {
    const { client, instance } = this.#options;
    const lease = await this.#get(signal);
    if (!lease || !isOurs(lease, instance)) return;
    const { uid, resourceVersion } = lease.metadata ?? {};
    const name = { namespace: leaseNamespace, name: instance.nodeName };
    await client.delete(resources.leases, name, { preconditions: { uid, resourceVersion } }, { signal, pool: "lease" });
    this.#lease = undefined;
  }

  /** @param blindSinceMs - when the Lease was last seen, if looks at it have failed since */
  async #tryClaim(
    observed: Observation | undefined,
    blindSinceMs: number | undefined,
    signal: AbortSignal,
  ): Promise<"done" | Extract<Claim, { readonly observation: Observation }>> {
    const { clock, instance, logger, standby } = this.#options;
    const lease = await this.#get(signal);
    const nowMs = clock.monotonic();
    // While nobody reaches the API server the other one cannot renew either: that time does not count.
    const blindMs = blindSinceMs === undefined ? 0 : nowMs - blindSinceMs;
    const previous = observed && { ...observed, sinceMs: observed.sinceMs + blindMs };
    const claim = decideClaim({ lease, instance, previous, nowMs, durationMs: this.#durationMs });
    if (claim.kind === "create" || claim.kind === "take") {
      this.#lease = await this.#write(lease, true, signal);
      this.#renewedMs = clock.monotonic();
      logger.info({ identity: instance.identity, took: claim.kind === "take" }, "lease is held");
      return "done";
    }
    if (claim.kind === "held" && !standby && lease) throw new NodeHeldError(instance, lease, "it renewed the lease while we watched");
    if (!previous) logger.info({ holder: lease && holderOf(lease), standby }, "another instance's lease; watching whether it is renewed");
    return claim;
  }

  /** Waits for a time on the monotonic clock; ends early, with `true`, when woken or when the machine has slept. */
  async #waitUntil(dueMs: number, signal: AbortSignal): Promise<boolean> {
    const { clock, logger } = this.#options;
    for (;;) {
      const leftMs = dueMs - clock.monotonic();
      if (leftMs <= 0) return false;
      const [wallMs, monotonicMs] = [clock.now(), clock.monotonic()];
      if (await this.#wake.wait(Math.min(leftMs, this.#intervalMs / 5), clock, signal)) return true;
      const pausedMs = clock.now() - wallMs - (clock.monotonic() - monotonicMs);
      if (pausedMs < suspendedMs) continue;
      logger.info({ pausedMs: Math.round(pausedMs) }, "the wall clock jumped ahead; renewing the lease at once");
      return true;
    }
  }

  async #renew(dueMs: number, signal: AbortSignal): Promise<void> {
    const { clock, logger, metrics } = this.#options;
    for (let failures = 0; ;) {
      try {
        this.#lease = await this.#write(this.#lease, false, signal);
        this.#renewedMs = clock.monotonic();
        metrics.count("vk_lease_renewals_total", { result: "ok" });
        metrics.observe("vk_lease_renew_lateness_seconds", Math.max(0, this.#renewedMs - dueMs) / 1000);
        if (failures > 0) this.#options.onRecovered?.();
        return;
      } catch (error) {
        signal.throwIfAborted();
        failures++;
        let cause = error;
        metrics.count("vk_lease_renewals_total", { result: "error" });
        if (isNotFound(error) && this.#lease) {
          this.#lease = undefined;
          logger.warn({}, "the lease was deleted; making it again");
        } else {
          if (isConflict(error)) cause = (await this.#reread(signal)) ?? error;
          // One conflict is an everyday thing: somebody edited the Lease.
          const isWorthTelling = failures > 1 || !isConflict(error);
          if (failures % logEvery === 1 && isWorthTelling) {
            logger.warn({ err: messageOf(error), attempt: failures }, "cannot renew the lease; trying again");
          }
        }
        const delayMs = this.#retryDelayMs(cause, failures);
        if (delayMs > 0) await clock.sleep(delayMs, signal);
      }
    }
  }

  /**
   * How long to wait before a renewal is tried again. A server that has too much to do gets the rest it asks for, as far as the
   * Lease lasts: one try is left before it expires. An expired one is tried as often as a renewal is due.
   */
  #retryDelayMs(error: unknown, failures: number): number {
    const { clock, random } = this.#options;
    const isBusy = retryAfterMsOf(error) !== undefined || statusOf(error)?.code === 429;
    const backedOff = isBusy ? failures : failures - immediateTries + 1;
    const backOffMs = backedOff > 0 ? backoffMs(kubeletBackoff, backedOff, random) : 0;
    const leftMs = (this.#renewedMs ?? 0) + this.#durationMs - this.#intervalMs - clock.monotonic();
    return Math.max(backOffMs, this.#askedMs(error, leftMs > 0 ? leftMs : this.#intervalMs));
  }

  /** How long the server asked to be left alone, within `maxMs`; 0 if it did not. */
  #askedMs(error: unknown, maxMs: number): number {
    const askedMs = retryAfterMsOf(error);
    return askedMs === undefined ? 0 : Math.min(maxMs, askedMs * (1 + askedJitter * this.#options.random.next()));
  }

  /** After a conflict: somebody else wrote the Lease, or seems to have. @returns why it could not be read, if it could not */
  async #reread(signal: AbortSignal): Promise<unknown> {
    const { instance, logger } = this.#options;
    let lease: Lease | undefined;
    try {
      lease = await this.#get(signal);
    } catch (error) {
      signal.throwIfAborted();
      logger.warn({ err: messageOf(error) }, "cannot read the lease; trying again");
      return error;
    }
    if (lease && !isOurs(lease, instance)) throw new NodeHeldError(instance, lease, "it took the lease from us");
    this.#lease = lease;
    return undefined;
  }

  async #get(signal: AbortSignal): Promise<Lease | undefined> {
    const { client, instance } = this.#options;
    try {
      const name = { namespace: leaseNamespace, name: instance.nodeName };
      return await this.#withDeadline("get", signal, (inner) => client.get(resources.leases, name, { signal: inner, pool: "lease" }));
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** @throws ConflictError also where the answer is a success, and its Lease is not as it was written: then nothing is held */
  async #write(base: Lease | undefined, isClaim: boolean, signal: AbortSignal): Promise<Lease> {
    const { client, instance } = this.#options;
    const lease = this.#wanted(base, isClaim);
    const write = (inner: AbortSignal): Promise<Lease> =>
      base
        ? client.replace(resources.leases, lease, { signal: inner, pool: "lease" })
        : client.create(resources.leases, lease, { signal: inner, pool: "lease" });
    const written = await this.#withDeadline(base ? "renew" : "create", signal, write);
    const wanted = claimIn(lease);
    const wrong = Object.entries(claimIn(written)).find(([field, value]) => value !== wanted[field]);
    if (!wrong) return written;
    const [field, value] = wrong;
    throw new ConflictError(
      `${base ? "renew" : "create"} lease ${leaseNamespace}/${instance.nodeName}: the answer has ${field} ${JSON.stringify(value) ?? "unset"}, ` +
        `expected "${wanted[field]}" as it was sent; does an admission webhook change Leases, or another server answer?`,
    );
  }

  #wanted(base: Lease | undefined, isClaim: boolean): Lease {
    const { clock, durationSeconds, instance } = this.#options;
    // The node life-cycle controller takes no renewal that is not later than the one before, whoever's clock that was.
    const aheadMs = Date.parse(base?.spec?.renewTime ?? "") - clock.now();
    const renewTime = microTime(clock.now() + (aheadMs > 0 && aheadMs < maxAheadMs ? aheadMs + 1 : 0));
    const { managedFields: _, ...metadata } = base?.metadata ?? {};
    return {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: {
        ...metadata,
        namespace: leaseNamespace,
        name: instance.nodeName,
        annotations: { ...metadata.annotations, [instanceAnnotation]: instance.identity, [startIdAnnotation]: instance.startId },
        ownerReferences: this.#owners(metadata.ownerReferences ?? []),
      },
      spec: {
        ...base?.spec,
        holderIdentity: instance.nodeName,
        leaseDurationSeconds: durationSeconds,
        renewTime,
        ...((isClaim || !base) && { acquireTime: renewTime }),
      },
    };
  }

  /**
   * The node as it is now owns the Lease. A reference to a node that is gone would have the garbage collector delete the
   * Lease, so until the node is known there is none.
   */
  #owners(present: readonly OwnerReference[]): OwnerReference[] | undefined {
    const { instance } = this.#options;
    const others = present.filter(({ kind, name }) => kind !== "Node" || name !== instance.nodeName);
    const owners =
      this.#nodeUid === undefined ? others : [...others, { apiVersion: "v1", kind: "Node", name: instance.nodeName, uid: this.#nodeUid }];
    return owners.length > 0 ? owners : undefined;
  }

  #withDeadline<T>(what: string, signal: AbortSignal, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { clock, instance } = this.#options;
    return withDeadline({ clock, timeoutMs: this.#intervalMs, what: `${what} lease ${leaseNamespace}/${instance.nodeName}` }, signal, call);
  }
}

/** Who holds a Lease, and when it was renewed, by field. */
function claimIn({ metadata, spec }: Lease): Readonly<Record<string, string | undefined>> {
  return {
    "spec.holderIdentity": spec?.holderIdentity,
    "spec.renewTime": spec?.renewTime,
    [`metadata.annotations["${instanceAnnotation}"]`]: metadata?.annotations?.[instanceAnnotation],
    [`metadata.annotations["${startIdAnnotation}"]`]: metadata?.annotations?.[startIdAnnotation],
  };
}
