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
  type ObjectMeta,
  type OwnerReference,
  type ServerHistory,
} from "@virtual-kubelet/kube-client";
import { microTime } from "@virtual-kubelet/kubernetes";
import { apiServerBackoff } from "../api-server/api-server-backoff.ts";
import { isRefusedRequest } from "../api-server/refused-request.ts";
import { isNewer } from "../api-server/resource-version.ts";
import {
  decideClaim,
  groupLabel,
  holderOf,
  instanceAnnotation,
  isOurs,
  leaseNamespace,
  NodeHeldError,
  startIdAnnotation,
  type Claim,
  type Instance,
  type LeaseObservation,
} from "./instance.ts";

/** Default of `NodeOptions.leaseDurationSeconds`. */
export const defaultLeaseDurationSeconds = 40;

/** Number of immediate retries before the back-off begins. Source: component-helpers v0.36.3 apimachinery/lease. */
const immediateTries = 5;

/** Maximum jitter of a renewal, as a fraction of the interval. Source: as above. */
const jitter = 0.04;

/** Interval of looks at another instance's Lease: short enough to see a renewal soon. */
const watchIntervalMs = 2_000;

/** Duration of a Lease that its holder has left, in seconds. Source: client-go v0.36.3 tools/leaderelection, release. */
const leftDurationSeconds = 1;

/** A wall clock that is this far ahead of the monotonic one shows that the machine slept. */
const suspendedMs = 2_000;

/** A renewal time further in the future than this cannot come from a clock. */
const maxAheadMs = 86_400_000;

/** Maximum jitter of a wait for Retry-After, because the server throttles many nodes at once. */
const askedJitter = 0.1;

/** Of consecutive failures the first and every tenth are logged. */
const logEvery = 10;

export interface LeaseControllerOptions {
  readonly client: KubeClient;
  readonly instance: Instance;
  /** Whether to wait until another instance has gone, instead of failing. */
  readonly standby: boolean;
  /** LeaseObservation of the Lease that was made before the claim, on this process's monotonic clock. Default: none. */
  readonly seen?: LeaseObservation | undefined;
  /** Labels and annotations that the Lease has besides the controller's own. Default: none. */
  readonly marks?: Pick<ObjectMeta, "labels" | "annotations"> | undefined;
  /** In seconds; the Lease is renewed every quarter of it. */
  readonly durationSeconds: number;
  /**
   * Whether the first renewal comes at a random time of the interval, so that nodes of one program, which start together, do not renew together
   * for ever. Default: `false`.
   */
  readonly spreads?: boolean | undefined;
  /** Called at each look at a Lease that another instance has, or has left; returns at once. */
  readonly onWatching?: (() => void) | undefined;
  /** Called when the API server refuses the claim of the Lease, so that a repetition alone does not help. Returns at once. */
  readonly onRefused?: (() => void) | undefined;
  /** Called when a renewal succeeds after failures, because the API server was away. Returns at once. */
  readonly onRecovered?: (() => void) | undefined;
  /** Is told the versions of the Lease, which is read and written one request at a time. */
  readonly history?: ServerHistory | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** A failed request for the Lease that is repeated. */
interface LeaseFailure {
  readonly error: unknown;
  /** Number of consecutive failures. */
  readonly attempt: number;
  /** Monotonic time of the next attempt. */
  readonly dueMs: number;
}

/** State of the Lease, for people who look at a running node. */
export interface LeaseState {
  /** Identity of the instance that holds the node, if that is known. */
  readonly holder: string | undefined;
  readonly isOurs: boolean;
  /** `undefined` when the last request succeeded. */
  readonly failure: LeaseFailure | undefined;
}

/**
 * Holds the node's Lease, which shows the cluster that the node is alive, and other instances that the node is taken.
 * Every write carries the resourceVersion that was read, so that one of two competing instances fails.
 */
export class LeaseController {
  readonly #options: LeaseControllerOptions;
  readonly #durationMs: number;
  readonly #intervalMs: number;
  readonly #wake = new Signal();
  #lease: Lease | undefined;
  #nodeUid: string | undefined;
  #renewedMs: number | undefined;
  #isStandingBy = false;
  /** Holder of a Lease that is another instance's; `undefined` when this instance holds it, or the Lease has no identity. */
  #otherHolder: string | undefined;
  #failure: LeaseFailure | undefined;

  constructor(options: LeaseControllerOptions) {
    this.#options = options;
    this.#durationMs = options.durationSeconds * 1000;
    this.#intervalMs = this.#durationMs / 4;
  }

  /** Time of the last renewal, on the monotonic clock; absent before the Lease is held. */
  get renewedMs(): number | undefined {
    return this.#renewedMs;
  }

  /** Whether this instance stands by: it sees that another one holds the Lease. */
  get isStandingBy(): boolean {
    return this.#isStandingBy;
  }

  /** Who holds the node, and what prevents this instance from renewing the Lease. */
  get state(): LeaseState {
    const isOurs = this.#renewedMs !== undefined;
    return { isOurs, holder: isOurs ? this.#options.instance.identity : this.#otherHolder, failure: this.#failure };
  }

  /** Makes the node the Lease's owner, so that both are deleted together; renews at once if the owner was another node. */
  setNodeUid(uid: string | undefined): void {
    if (uid === this.#nodeUid) return;
    this.#nodeUid = uid;
    if (uid !== undefined) this.#wake.notify();
  }

  /**
   * Takes the Lease, and with it the node. Waits for an API server that does not answer.
   *
   * @throws NodeHeldError if another instance renews it, unless standing by; `signal.reason` when aborted
   */
  async claim(signal: AbortSignal): Promise<void> {
    const { clock, logger, random } = this.#options;
    let previous = this.#options.seen;
    let seenMs = clock.monotonic();
    for (let failures = 0; ;) {
      let waitMs: number;
      try {
        const claim = await this.#tryClaim(previous, failures > 0 ? seenMs : undefined, signal);
        this.#isStandingBy = claim !== "done" && this.#options.standby;
        if (claim === "done") return;
        this.#options.onWatching?.();
        previous = claim.observation;
        seenMs = clock.monotonic();
        failures = 0;
        this.#failure = undefined;
        waitMs = Math.min(watchIntervalMs, claim.kind === "watch" ? claim.remainingMs : watchIntervalMs);
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof NodeHeldError) throw error;
        this.#isStandingBy = false;
        if (isRefusedRequest(error)) this.#options.onRefused?.();
        failures++;
        waitMs = Math.max(backoffMs(apiServerBackoff, failures, random), this.#askedMs(error, this.#durationMs));
        this.#failure = { error, attempt: failures, dueMs: clock.monotonic() + waitMs };
        if (isConflict(error) && failures < immediateTries) continue;
        if (failures % logEvery === 1) {
          logger.warn({ err: messageOf(error), attempt: failures, delayMs: Math.round(waitMs) }, "cannot take the lease; trying again");
        }
      }
      await clock.sleep(waitMs, signal);
    }
  }

  /**
   * Renews the Lease until aborted, and throws `signal.reason` then. A deleted Lease is recreated, and one that
   * was edited is corrected.
   *
   * @throws NodeHeldError if another instance has taken it
   */
  async run(signal: AbortSignal): Promise<never> {
    const { clock, random, spreads = false } = this.#options;
    for (let isSpread = !spreads; ;) {
      const share = isSpread ? 1 + jitter * random.next() : random.next();
      const dueMs = (this.#renewedMs ?? clock.monotonic()) + this.#intervalMs * share;
      const isEarly = await this.#waitUntil(dueMs, signal);
      isSpread ||= !isEarly;
      await this.#renew(isEarly ? clock.monotonic() : dueMs, signal);
    }
  }

  /** Asks the API server whether no other instance has taken the Lease. */
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

  /**
   * Shortens the Lease if it is still ours, so that an instance that stands by takes the node within seconds. To be called when nothing of
   * this instance changes the node or its pods any more.
   */
  async handOver(signal: AbortSignal): Promise<void> {
    const { client, instance } = this.#options;
    const lease = await this.#get(signal);
    if (!lease || !isOurs(lease, instance)) return;
    const wanted = this.#wanted(lease, false);
    const left = { ...wanted, spec: { ...wanted.spec, leaseDurationSeconds: leftDurationSeconds } };
    await this.#withDeadline("hand over", signal, (inner) => client.replace(resources.leases, left, { signal: inner, pool: "lease" }));
  }

  /** @param blindSinceMs - time at which the Lease was last seen, if looks at it have failed since */
  async #tryClaim(
    observed: LeaseObservation | undefined,
    blindSinceMs: number | undefined,
    signal: AbortSignal,
  ): Promise<"done" | Extract<Claim, { readonly observation: LeaseObservation }>> {
    const { clock, instance, logger, spreads, standby } = this.#options;
    const lease = await this.#get(signal);
    // Whoever stands by may follow the server already.
    this.#note(lease);
    const nowMs = clock.monotonic();
    // The other instance cannot renew while the API server is unreachable, so that time does not count.
    const blindMs = blindSinceMs === undefined ? 0 : nowMs - blindSinceMs;
    const previous = observed && { ...observed, sinceMs: observed.sinceMs + blindMs };
    const claim = decideClaim({ lease, instance, previous, nowMs, durationMs: this.#durationMs });
    if (claim.kind === "create" || claim.kind === "take") {
      this.#lease = await this.#write(lease, true, signal);
      this.#renewedMs = clock.monotonic();
      this.#failure = undefined;
      // A line for each of very many nodes tells nothing.
      logger[spreads ? "debug" : "info"]({ identity: instance.identity, took: claim.kind === "take" }, "lease is held");
      return "done";
    }
    this.#otherHolder = lease && holderOf(lease);
    if (claim.kind === "held" && !standby && lease)
      throw new NodeHeldError(instance, lease, "it renewed the lease while this instance watched");
    if (!previous)
      logger.info({ holder: lease && holderOf(lease), standby }, "the lease belongs to another instance; watching whether it is renewed");
    return claim;
  }

  /** Waits until a time on the monotonic clock; ends early, with `true`, when woken or when the machine has slept. */
  async #waitUntil(dueMs: number, signal: AbortSignal): Promise<boolean> {
    const { clock, logger, spreads } = this.#options;
    for (;;) {
      const leftMs = dueMs - clock.monotonic();
      if (leftMs <= 0) return false;
      const [wallMs, monotonicMs] = [clock.now(), clock.monotonic()];
      if (await this.#wake.wait(Math.min(leftMs, this.#intervalMs / (spreads ? 2 : 5)), clock, signal)) return true;
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
        this.#failure = undefined;
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
          logger.warn({}, "the lease was deleted; creating it again");
        } else {
          if (isConflict(error)) cause = (await this.#reread(signal)) ?? error;
          // A single conflict is normal: somebody edited the Lease.
          const isWorthTelling = failures > 1 || !isConflict(error);
          if (failures % logEvery === 1 && isWorthTelling) {
            logger.warn({ err: messageOf(error), attempt: failures }, "cannot renew the lease; trying again");
          }
        }
        const delayMs = this.#retryDelayMs(cause, failures);
        this.#failure = { error: cause, attempt: failures, dueMs: clock.monotonic() + delayMs };
        if (delayMs > 0) await clock.sleep(delayMs, signal);
      }
    }
  }

  /**
   * Delay before a renewal is retried. A Retry-After of the server is respected as long as the
   * Lease is valid, with one try before it expires. An expired Lease is retried at the interval of renewals.
   */
  #retryDelayMs(error: unknown, failures: number): number {
    const { clock, random } = this.#options;
    const isBusy = retryAfterMsOf(error) !== undefined || statusOf(error)?.code === 429;
    const backedOff = isBusy ? failures : failures - immediateTries + 1;
    const backOffMs = backedOff > 0 ? backoffMs(apiServerBackoff, backedOff, random) : 0;
    const leftMs = (this.#renewedMs ?? 0) + this.#durationMs - this.#intervalMs - clock.monotonic();
    return Math.max(backOffMs, this.#askedMs(error, leftMs > 0 ? leftMs : this.#intervalMs));
  }

  /** The server's Retry-After, at most `maxMs`; 0 if there is none. */
  #askedMs(error: unknown, maxMs: number): number {
    const askedMs = retryAfterMsOf(error);
    return askedMs === undefined ? 0 : Math.min(maxMs, askedMs * (1 + askedJitter * this.#options.random.next()));
  }

  /** Reads the Lease after a conflict. @returns the error if it could not be read */
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
    if (lease && !isOurs(lease, instance) && !this.#isEarlierStart(lease))
      throw new NodeHeldError(instance, lease, "it took over the lease");
    this.#note(lease);
    this.#lease = lease;
    return undefined;
  }

  /** Whether a Lease is an earlier start's of this instance, as in a backup that the API server was restored from. */
  #isEarlierStart(lease: Lease): boolean {
    return this.#lease !== undefined && isNewer(this.#lease, lease) && holderOf(lease) === this.#options.instance.identity;
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

  /** @throws ConflictError also for a successful answer whose Lease differs from the one written, because the Lease is then not held */
  async #write(base: Lease | undefined, isClaim: boolean, signal: AbortSignal): Promise<Lease> {
    const { client, instance } = this.#options;
    const lease = this.#wanted(base, isClaim);
    const write = (inner: AbortSignal): Promise<Lease> =>
      base
        ? client.replace(resources.leases, lease, { signal: inner, pool: "lease" })
        : client.create(resources.leases, lease, { signal: inner, pool: "lease" });
    const written = await this.#withDeadline(base ? "renew" : "create", signal, write);
    this.#note(written);
    const wanted = claimIn(lease);
    const wrong = Object.entries(claimIn(written)).find(([field, value]) => value !== wanted[field]);
    if (!wrong) return written;
    const [field, value] = wrong;
    throw new ConflictError(
      `${base ? "renew" : "create"} lease ${leaseNamespace}/${instance.nodeName}: the answer has ${field} ${JSON.stringify(value) ?? "unset"}, ` +
        `expected "${wanted[field]}" as it was sent; does an admission webhook change Leases, or another server answer?`,
    );
  }

  #note(lease: Lease | undefined): void {
    this.#options.history?.note(lease?.metadata?.resourceVersion, this.#options.instance.nodeName);
  }

  #wanted(base: Lease | undefined, isClaim: boolean): Lease {
    const { clock, durationSeconds, instance, marks } = this.#options;
    // The node life-cycle controller ignores a renewal that is not later than the previous one, whichever clock that came from.
    const aheadMs = Date.parse(base?.spec?.renewTime ?? "") - clock.now();
    const renewTime = microTime(clock.now() + (aheadMs > 0 && aheadMs < maxAheadMs ? aheadMs + 1 : 0));
    const { managedFields: _, labels = {}, ...metadata } = base?.metadata ?? {};
    const { [groupLabel]: _group, ...others } = labels;
    const allLabels = { ...others, ...marks?.labels };
    return {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: {
        ...metadata,
        namespace: leaseNamespace,
        name: instance.nodeName,
        ...(Object.keys(allLabels).length > 0 && { labels: allLabels }),
        annotations: {
          ...metadata.annotations,
          ...marks?.annotations,
          [instanceAnnotation]: instance.identity,
          [startIdAnnotation]: instance.startId,
        },
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
   * Owner reference to the current node. With a reference to a node that is gone the garbage collector would delete the
   * Lease, so there is none until the node is known.
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

/** The fields of a Lease that name its holder and its last renewal. */
function claimIn({ metadata, spec }: Lease): Readonly<Record<string, string | undefined>> {
  return {
    "spec.holderIdentity": spec?.holderIdentity,
    "spec.renewTime": spec?.renewTime,
    [`metadata.annotations["${instanceAnnotation}"]`]: metadata?.annotations?.[instanceAnnotation],
    [`metadata.annotations["${startIdAnnotation}"]`]: metadata?.annotations?.[startIdAnnotation],
  };
}
