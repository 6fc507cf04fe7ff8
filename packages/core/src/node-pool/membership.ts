import type { Clock, Random } from "@virtual-kubelet/clock";
import { ConflictError, InvalidInputError, isConflict, isNotFound, messageOf } from "@virtual-kubelet/errdefs";
import {
  noMetrics,
  resources,
  type DeepReadonly,
  type KubeClient,
  type Lease,
  type Logger,
  type Metrics,
  type ServerHistory,
} from "@virtual-kubelet/kube-client";
import { isLabelValue } from "@virtual-kubelet/kubernetes";
import { hash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { groupLabel, leaseNamespace, NodeHeldError, startIdAnnotation } from "../node/instance.ts";
import { LeaseController } from "../node/lease-controller.ts";
import type { LeaseWatch, SeenLease } from "./lease-watch.ts";

/** Label of a member's Lease, which distinguishes it from those of nodes. */
const memberLabel = "virtual-kubelet.io/group-role";

const memberRole = "member";

/** Annotation of a member's Lease: the identity of the instance. */
const memberAnnotation = "virtual-kubelet.io/member";

/** Annotation of a member's Lease: what {@link nodeListHash} returns for its nodes. */
const nodesAnnotation = "virtual-kubelet.io/group-nodes";

/** Number of Lease durations without renewal after which the Lease of a dead member is deleted. */
const removedAfter = 60;

/** Another copy of the program has the identity of this one in the group. */
export class IdentityHeldError extends ConflictError {}

export interface MembershipOptions {
  readonly client: KubeClient;
  readonly watch: LeaseWatch;
  readonly group: string;
  readonly identity: string;
  /** Names of the nodes that this instance can run. */
  readonly nodeNames: readonly string[];
  /** Is told the versions of the member's Lease. */
  readonly history: ServerHistory;
  /** In seconds; the Lease is renewed every quarter of it. */
  readonly durationSeconds: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** The membership of this instance in a group, by a Lease of its own, and the other live members. */
export class Membership {
  readonly #options: MembershipOptions;
  readonly #lease: LeaseController;
  readonly #name: string;
  readonly #nodes: string;
  readonly #startId: string;
  #isMember = false;
  /** Sorted identities of members that have other nodes than this instance, as they were last reported. */
  #differing: readonly string[] = [];

  /** @throws InvalidInputError if the group's name cannot be a label's value */
  constructor(options: MembershipOptions) {
    const { client, group, identity, history, durationSeconds, clock, random, logger } = options;
    if (group === "" || !isLabelValue(group)) throw new InvalidInputError(invalidGroup(group));
    this.#options = options;
    this.#name = memberLeaseName(group, identity);
    this.#nodes = nodeListHash(options.nodeNames);
    this.#startId = random.uuid();
    this.#lease = new LeaseController({
      client,
      // Because of the group, a second copy does not take the Lease as a restart of the first one does with a node.
      instance: { nodeName: this.#name, identity, startId: this.#startId, group },
      standby: false,
      history,
      marks: {
        labels: { [groupLabel]: group, [memberLabel]: memberRole },
        annotations: { [memberAnnotation]: identity, [nodesAnnotation]: this.#nodes },
      },
      durationSeconds,
      clock,
      random,
      logger: logger.child({ lease: this.#name }),
      metrics: noMetrics,
    });
  }

  /** Whether this instance has joined. */
  get isMember(): boolean {
    return this.#isMember;
  }

  /**
   * Whether the others can see that this instance lives. While they cannot, it cannot judge them either: what delays its own renewals delays
   * theirs.
   */
  get isSeen(): boolean {
    const { durationSeconds, clock } = this.#options;
    const { renewedMs } = this.#lease;
    return this.#isMember && renewedMs !== undefined && clock.monotonic() - renewedMs < durationSeconds * 1000;
  }

  /** Ids of the live members' starts, by identity. This instance is one as soon as it has joined. */
  get live(): ReadonlyMap<string, string> {
    const { watch, identity } = this.#options;
    const live = new Map<string, string>();
    for (const [, seen] of watch.list()) {
      const member = memberOf(seen);
      if (member !== undefined && this.#silentFor(seen) < 1) live.set(member, seen.lease?.metadata?.annotations?.[startIdAnnotation] ?? "");
    }
    if (this.#isMember) live.set(identity, this.#startId);
    return live;
  }

  /** Tells the log and the metrics, once for each change, which live members have other nodes than this instance. */
  reportOtherNodes(): void {
    const { group, logger, metrics, watch } = this.#options;
    const differing: string[] = [];
    for (const [, seen] of watch.list()) {
      const member = memberOf(seen);
      const nodes = seen.lease?.metadata?.annotations?.[nodesAnnotation];
      if (member !== undefined && nodes !== undefined && nodes !== this.#nodes && this.#silentFor(seen) < 1) differing.push(member);
    }
    differing.sort();
    if (isDeepStrictEqual(differing, this.#differing)) return;
    this.#differing = differing;
    metrics.gauge("vk_group_members_with_other_nodes", differing.length);
    if (differing.length === 0) return logger.info({}, "all members of the group have the same nodes again");
    logger.warn(
      { members: differing },
      "members of the group have other nodes than this instance, so that nodes can be without an instance for minutes; " +
        `set the same \`nodes\` in each instance of group ${JSON.stringify(group)}`,
    );
  }

  /**
   * Joins the group, and waits for an API server that does not answer.
   *
   * @throws IdentityHeldError if another copy has the identity; `signal.reason` when aborted
   */
  async join(signal: AbortSignal): Promise<void> {
    await this.#orIdentityError(this.#lease.claim(signal));
    this.#isMember = true;
  }

  /**
   * Stays a member until aborted, and removes the Leases of members that are long dead. Throws `signal.reason` then.
   *
   * @throws IdentityHeldError if another copy has taken the identity
   */
  async run(signal: AbortSignal): Promise<never> {
    const end = new AbortController();
    const inner = AbortSignal.any([signal, end.signal]);
    try {
      return await this.#orIdentityError(Promise.race([this.#lease.run(inner), this.#removeDead(inner)]));
    } finally {
      end.abort();
    }
  }

  /** Leaves the group, so that the others take the nodes. To be called after {@link run}. A failure is logged. */
  async leave(signal: AbortSignal): Promise<void> {
    if (!this.#isMember) return;
    this.#isMember = false;
    try {
      await this.#lease.release(signal);
    } catch (error) {
      this.#options.logger.warn({ err: messageOf(error) }, "cannot leave the group; the others take the nodes when its lease has expired");
    }
  }

  /** Silence of a member as a multiple of its Lease's duration. */
  #silentFor({ lease, observation }: SeenLease): number {
    const { watch, durationSeconds } = this.#options;
    const silentMs = (watch.heardMs ?? observation.sinceMs) - observation.sinceMs;
    return silentMs / ((lease?.spec?.leaseDurationSeconds ?? durationSeconds) * 1000);
  }

  async #removeDead(signal: AbortSignal): Promise<never> {
    const { watch, durationSeconds, clock } = this.#options;
    for (;;) {
      await clock.sleep(durationSeconds * 1000, signal);
      for (const [name, seen] of [...watch.list()]) {
        if (memberOf(seen) !== undefined && name !== this.#name && this.#silentFor(seen) > removedAfter) await this.#remove(seen, signal);
      }
    }
  }

  async #remove({ lease }: SeenLease, signal: AbortSignal): Promise<void> {
    const { client, logger } = this.#options;
    const { name = "", uid, resourceVersion } = lease?.metadata ?? {};
    try {
      await client.delete(resources.leases, { namespace: leaseNamespace, name }, { preconditions: { uid, resourceVersion } }, { signal });
    } catch (error) {
      signal.throwIfAborted();
      if (!isNotFound(error) && !isConflict(error))
        logger.warn({ lease: name, err: messageOf(error) }, "cannot remove a dead member's lease");
    }
  }

  async #orIdentityError<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      if (!(error instanceof NodeHeldError)) throw error;
      const { group, identity } = this.#options;
      throw new IdentityHeldError(
        `join group ${JSON.stringify(group)} as instance ${JSON.stringify(identity)}: another program with this identity is a member ` +
          `(it renews lease ${leaseNamespace}/${this.#name}): stop that one, or give each instance an identity of its own`,
        { cause: error },
      );
    }
  }
}

/** Name of a member's Lease. It is a hash, because identities can be any text. */
export function memberLeaseName(group: string, identity: string): string {
  return `virtual-kubelet-member-${hash("sha256", `${group}\0${identity}`).slice(0, 32)}`;
}

function invalidGroup(group: string): string {
  return (
    `group: ${JSON.stringify(group)}: expected a label's value: 1 to 63 letters, digits, '-', '_' and '.', beginning and ending with a letter ` +
    `or digit; the leases of the group have its name as a label, so give it another one, such as "sim"`
  );
}

/** Text that differs for another set of nodes, whatever their order. */
function nodeListHash(names: readonly string[]): string {
  return hash("sha256", names.toSorted().join("\0")).slice(0, 32);
}

/** Identity on a member's Lease; `undefined` for another Lease, and for one that was deleted. */
function memberOf({ lease }: { readonly lease: DeepReadonly<Lease> | undefined }): string | undefined {
  if (lease?.metadata?.labels?.[memberLabel] !== memberRole) return undefined;
  return lease.metadata.annotations?.[memberAnnotation];
}
