import { Signal } from "@virtual-kubelet/async";
import { systemClock, systemRandom, type Clock, type Random } from "@virtual-kubelet/clock";
import { messageOf } from "@virtual-kubelet/errdefs";
import { noMetrics, ServerHistory, silentLogger, type KubeClient, type Logger, type Metrics } from "@virtual-kubelet/kube-client";
import { decideClaim, holderOf, NodeHeldError } from "../node/instance.ts";
import { defaultLeaseDurationSeconds } from "../node/lease-controller.ts";
import type { InstanceOptions } from "../virtual-node/options.ts";
import type { RunOptions } from "../virtual-node/run-options.ts";
import type { VirtualNode } from "../virtual-node/virtual-node.ts";
import { FailingNodes, type NodeFailure } from "./failing-nodes.ts";
import { LeaseWatch } from "./lease-watch.ts";
import { MemberTrials } from "./member-trials.ts";
import { Membership } from "./membership.ts";
import { NodeShare } from "./node-share.ts";
import { SettledMembers } from "./settled-members.ts";

/**
 * A member's Lease is shorter than a node's by this factor: a death is known before the nodes' Leases expire, and a slow API server is not
 * taken for one.
 */
const memberShare = 2;

/** Time for which the members must stay the same, as a share of a node's Lease. */
const settleShare = 16;

/** Maximum time for which the end waits for an API server that does not answer, as a share of a node's Lease. */
const leaveShare = 8;

/** Maximum interval of looks at the Leases of nodes that this instance waits for, in milliseconds. */
const maxLookMs = 1_000;

/** Maximum number of nodes that take their Leases at once. */
const maxStarting = 32;

/** Time after which a node that has not taken its Lease counts no longer as one that starts, in milliseconds. */
const maxStartMs = 10_000;

/** What a pool uses of a {@link VirtualNode}. */
export type PoolNode = Pick<VirtualNode, "health" | "run">;

/** Options of {@link NodePool}. */
export interface NodePoolOptions<Node extends PoolNode = VirtualNode> {
  readonly client: KubeClient;
  /** Name of the group, a label's value that is not empty; the same for all instances. */
  readonly group: string;
  /** Name of this instance, different from that of each other instance, and stable across restarts. */
  readonly identity: string;
  /** Names of all nodes that the instances share. */
  readonly nodeNames: readonly string[];
  /** Duration of the nodes' Leases in seconds; default: 40. */
  readonly leaseDurationSeconds?: number | undefined;
  /** Creates the node of that name; its instance options have to contain the given ones. Called again for each time that the node runs here. */
  readonly newNode: (name: string, instance: Pick<InstanceOptions, "group" | "seen">) => Node;
  /** Called before a node runs here, for example to serve it. The result is disposed when it has ended. Default: nothing. */
  readonly onNode?: ((node: Node, name: string) => Disposable) | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  readonly logger?: Logger | undefined;
  readonly metrics?: Metrics | undefined;
}

/** State of a pool, for people. */
export interface NodePoolState {
  readonly group: string;
  /** Number of nodes that the instances share. */
  readonly nodes: number;
  /** Number of nodes that this instance runs. */
  readonly running: number;
  /** Number of nodes that are this instance's share. */
  readonly assigned: number;
  /** Sorted identities of the live instances that get nodes; empty until this one has joined. */
  readonly members: readonly string[];
  /** Nodes of this instance whose last run failed; they are tried again. */
  readonly failing: readonly NodeFailure[];
}

/** A node that this instance waits for. */
interface Wanted {
  /** Monotonic time before which it is not tried again, unless its Lease changes. */
  readonly notBeforeMs: number;
  /** Renewal of the Lease as it was seen when the node was lost; the watch can be behind. */
  readonly lostAt: string | undefined;
}

const wantedNow: Wanted = { notBeforeMs: 0, lostAt: undefined };

/** A node that runs here. */
interface Running<Node> {
  readonly node: Node;
  readonly stop: AbortController;
  /** Monotonic time. */
  readonly startedMs: number;
  readonly ended: Promise<void>;
}

/**
 * Runs the nodes that are this instance's share of those that several instances have in common. When another instance ends, the remaining ones
 * take over its nodes within the duration of a Lease and a few seconds; one that joins gets its share of those that run. The Lease of each node
 * decides who runs it, so that two instances never do at once.
 *
 * @example
 * ```ts
 * const pool = new NodePool({
 *   client, group: "sim", identity: "host-1", nodeNames: ["sim-0", "sim-1"],
 *   newNode: (name, shared) => new VirtualNode({ client, provider, providerConfig: {}, node: { name, instance: { identity: "host-1", ...shared } } }),
 * });
 * await pool.run(signal);
 * ```
 */
export class NodePool<Node extends PoolNode = VirtualNode> {
  readonly #options: NodePoolOptions<Node>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #nodeNames: ReadonlySet<string>;
  readonly #durationMs: number;
  readonly #lookMs: number;
  readonly #watch: LeaseWatch;
  readonly #membership: Membership;
  readonly #trials: MemberTrials;
  readonly #members: SettledMembers;
  readonly #changes = new Signal();
  readonly #failed = new AbortController();
  readonly #ready = Promise.withResolvers<void>();
  readonly #running = new Map<string, Running<Node>>();
  /** Assigned nodes that do not run. */
  readonly #wanted = new Map<string, Wanted>();
  readonly #failing: FailingNodes;
  readonly #share: NodeShare;
  /** Nodes whose failure ends the run: those that an instance that is alone at its start begins with, until one of them is ready. */
  #first: Set<string> | undefined;

  /** @throws InvalidInputError if the group's name cannot be a label's value */
  constructor(options: NodePoolOptions<Node>) {
    const { client, group, identity, leaseDurationSeconds = defaultLeaseDurationSeconds } = options;
    const { clock = systemClock, random = systemRandom, logger = silentLogger, metrics = noMetrics } = options;
    const memberSeconds = Math.max(1, Math.round(leaseDurationSeconds / memberShare));
    const renewalMs = (memberSeconds * 1000) / 4;
    const settleMs = (leaseDurationSeconds * 1000) / settleShare;
    this.#options = options;
    this.#clock = clock;
    this.#logger = logger.child({ group });
    this.#nodeNames = new Set(options.nodeNames);
    this.#durationMs = leaseDurationSeconds * 1000;
    this.#lookMs = Math.min(maxLookMs, settleMs);
    // The member's own Lease shows that the API server was restored from a backup, so that the watch has to begin anew.
    const history = new ServerHistory({ server: "the API server", logger: this.#logger });
    const common = { client, group, history, clock, random, logger: this.#logger, metrics };
    this.#watch = new LeaseWatch({ ...common, maxGapMs: 2 * renewalMs });
    this.#membership = new Membership({
      ...common,
      watch: this.#watch,
      identity,
      nodeNames: options.nodeNames,
      durationSeconds: memberSeconds,
    });
    this.#share = new NodeShare({ nodeNames: options.nodeNames, identity, durationMs: this.#durationMs });
    this.#failing = new FailingNodes({ durationMs: this.#durationMs, clock, random, logger: this.#logger, metrics });
    this.#trials = new MemberTrials({ identity, durationMs: this.#durationMs, logger: this.#logger });
    this.#members = new SettledMembers({ settleMs, maxSettleMs: 4 * settleMs });
    // A caller that only awaits run() gets the failure there.
    this.#ready.promise.catch(() => {});
  }

  /** Resolves when this instance has joined the group and its share is ready; rejects if {@link run} ends before. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /**
   * Whether this instance has its share and all of it is ready, and whether all that is missing are nodes that other instances run. A node that
   * fails is neither.
   */
  get health(): { readonly ready: boolean; readonly standingBy: boolean } {
    const isSettled = this.#members.current !== undefined;
    const running = [...this.#running.values()].map(({ node }) => node.health);
    // A node whose Lease is not held yet is still another instance's.
    const areReady = running.every(({ ready, leaseAgeMs }) => ready || leaseAgeMs === undefined);
    const isReady = isSettled && this.#wanted.size === 0 && running.every(({ ready }) => ready);
    return { ready: isReady, standingBy: isSettled && areReady && !isReady && this.#failing.size === 0 };
  }

  /** What this instance runs of the group's nodes, and with whom it shares them. */
  get state(): NodePoolState {
    const { group, nodeNames } = this.#options;
    const { size: running } = this.#running;
    const { current: members = [] } = this.#members;
    return { group, nodes: nodeNames.length, running, assigned: this.#share.assigned.size, members, failing: this.#failing.list() };
  }

  /**
   * Joins the group and runs this instance's share until aborted; may be called once. Then the nodes are left to the other instances, as
   * {@link VirtualNode.run} ends. A node that another instance has taken ends alone, and is taken back when that is possible. A node that fails
   * is tried again, and the others go on.
   *
   * @throws IdentityHeldError if another program has this instance's identity; the error of a node that fails at the start of an instance that
   * is alone in its group, because nothing but its settings has changed. The other nodes stop before
   */
  async run(signal: AbortSignal, options: Omit<RunOptions, "isRemoved"> = {}): Promise<void> {
    const stop = AbortSignal.any([signal, this.#failed.signal]);
    const end = new AbortController();
    const fail = (error: unknown): void => {
      if (!end.signal.aborted && error !== stop.reason) this.#failed.abort(error);
    };
    const watching = this.#watch.run((name) => this.#onLease(name), end.signal).catch(fail);
    const member = this.#beMember(stop).catch(fail);
    const sharing = this.#divide(stop, options).catch(fail);
    await Promise.all([member, sharing]);
    this.#ready.reject(stop.reason);
    // The others begin to wait for the nodes while these end.
    const leaving = this.#membership.leave(this.#leaveSignal(end.signal));
    await Promise.all([leaving, ...[...this.#running.values()].map(({ ended }) => ended)]);
    end.abort();
    await watching;
    this.#failing[Symbol.dispose]();
    if (this.#failed.signal.aborted && !signal.aborted) throw this.#failed.signal.reason;
  }

  async #beMember(signal: AbortSignal): Promise<void> {
    await this.#membership.join(signal);
    this.#changes.notify();
    await this.#membership.run(signal);
  }

  /** An API server that does not answer must not prolong the stop. */
  #leaveSignal(end: AbortSignal): AbortSignal {
    const late = new AbortController();
    const timer = this.#clock.setTimer(this.#durationMs / leaveShare, () => late.abort(new Error("the API server did not answer in time")));
    end.addEventListener("abort", () => timer[Symbol.dispose](), { once: true });
    return AbortSignal.any([end, late.signal]);
  }

  async #divide(signal: AbortSignal, options: RunOptions): Promise<void> {
    for (;;) {
      await this.#changes.wait(this.#lookMs, this.#clock, signal);
      if (!this.#membership.isMember || this.#watch.heardMs === undefined) continue;
      if (this.#membership.isSeen) this.#observeMembers(this.#clock.monotonic());
      if (this.#members.current === undefined) continue;
      if (this.#membership.isSeen) this.#lookAround();
      this.#noteReady();
      this.#startSome(signal, options);
      if (this.health.ready) this.#ready.resolve();
    }
  }

  #observeMembers(nowMs: number): void {
    if (this.#members.observe(this.#trials.observe(this.#membership.live, nowMs), nowMs)) this.#assign();
  }

  #onLease(name: string): void {
    const isNode = this.#nodeNames.has(name);
    if (!isNode) this.#watch.forget(name);
    if (!isNode || this.#wanted.has(name)) this.#changes.notify();
  }

  /** Applies a changed membership: stops nodes of other instances, and wants those of this one. */
  #assign(): void {
    const { current: members = [] } = this.#members;
    this.#share.assign(members, this.#clock.monotonic());
    const { assigned } = this.#share;
    this.#first = new Set(this.#first === undefined && members.length === 1 ? assigned : []);
    this.#logger.info({ members: members.length, nodes: this.#nodeNames.size, assigned: assigned.size }, "the nodes are shared anew");
    for (const name of [...this.#wanted.keys(), ...this.#failing.names]) if (!this.#share.has(name)) this.#letGo(name);
    for (const [name, { stop }] of this.#running) {
      if (!this.#share.has(name)) stop.abort(new Error(`node ${name} is handed over to instance ${this.#share.ownerOf(name)}`));
    }
    for (const name of assigned) if (!this.#running.has(name)) this.#want(name);
  }

  #want(name: string, wanted: Wanted = wantedNow): void {
    if (this.#share.has(name) && !this.#wanted.has(name)) this.#wanted.set(name, wanted);
  }

  #letGo(name: string): void {
    this.#wanted.delete(name);
    this.#failing.forget(name);
  }

  /** Whoever else runs an adopted node goes on doing so. */
  #giveUp(name: string): void {
    if (this.#share.giveUp(name, this.#clock.monotonic())) this.#letGo(name);
  }

  /** Compares the lists of nodes, and takes nodes that nobody runs. */
  #lookAround(): void {
    this.#membership.reportOtherNodes();
    const renewedMs = (name: string): number | undefined =>
      this.#running.has(name) ? undefined : (this.#watch.get(name)?.observation.sinceMs ?? 0);
    for (const { node, owner } of this.#share.adopt(this.#watch.heardMs ?? 0, renewedMs)) {
      this.#logger.warn({ node, owner }, "nobody runs the node, also not the instance that it belongs to; this one takes it");
      this.#want(node);
    }
  }

  #noteReady(): void {
    for (const [name, { node }] of this.#running) {
      if (!node.health.ready) continue;
      // From now on the end of this instance would be the end of a node that runs.
      this.#first?.clear();
      this.#failing.noteReady(name);
    }
  }

  /** Starts wanted nodes, a limited number at once: more would only wait for each other, and delay the renewals of those that run. */
  #startSome(signal: AbortSignal, options: RunOptions): void {
    const nowMs = this.#clock.monotonic();
    const isStarting = ({ node, startedMs }: Running<Node>): boolean =>
      node.health.leaseAgeMs === undefined && nowMs - startedMs < maxStartMs;
    let starting = [...this.#running.values()].filter(isStarting).length;
    for (const name of [...this.#wanted.keys()]) {
      if (starting >= maxStarting) return;
      if (this.#tryStart(name, signal, options)) starting++;
    }
  }

  /** Starts a node whose Lease is free as far as this instance has seen; the claim of the Lease decides. */
  #tryStart(name: string, signal: AbortSignal, options: RunOptions): boolean {
    const nowMs = this.#clock.monotonic();
    const { notBeforeMs, lostAt } = this.#wanted.get(name) ?? wantedNow;
    const { identity, group } = this.#options;
    const seen = this.#watch.get(name);
    if (notBeforeMs > nowMs && seen?.observation.renewal === lostAt) return false;
    const claim = decideClaim({
      lease: seen?.lease,
      instance: { nodeName: name, identity, startId: "", group },
      previous: seen?.observation,
      // Silence is measured up to the last news.
      nowMs: this.#watch.heardMs ?? nowMs,
      durationMs: this.#durationMs,
    });
    if (claim.kind !== "create" && claim.kind !== "take") {
      // This instance's own Lease, of a run that has just failed, shows nobody else who runs the node.
      if (!seen?.lease || holderOf(seen.lease) === identity) return false;
      this.#failing.forget(name);
      this.#giveUp(name);
      return false;
    }
    if (!this.#failing.isDue(name)) return false;
    this.#start(name, signal, options);
    return true;
  }

  #start(name: string, signal: AbortSignal, options: RunOptions): void {
    const stop = new AbortController();
    const both = AbortSignal.any([signal, stop.signal]);
    this.#wanted.delete(name);
    let node: Node;
    let served: Disposable | undefined;
    try {
      node = this.#newNode(name);
      served = this.#options.onNode?.(node, name);
    } catch (error) {
      this.#onError(name, error, both);
      return;
    }
    const ended = node
      .run(both, options)
      .then(() => {
        if (!both.aborted) throw new Error(`node ${name} ended unexpectedly`);
      })
      .catch((error: unknown) => this.#onError(name, error, both))
      .finally(() => {
        served?.[Symbol.dispose]();
        this.#running.delete(name);
        this.#want(name);
        this.#changes.notify();
      });
    this.#running.set(name, { node, stop, startedMs: this.#clock.monotonic(), ended });
  }

  #newNode(name: string): Node {
    const { group, newNode } = this.#options;
    const { lease, observation } = this.#watch.get(name) ?? {};
    // A Lease that left the group, because somebody took its label away, may still be there, so that it has to be observed anew.
    return newNode(name, { group, seen: lease && observation });
  }

  #onError(name: string, error: unknown, { aborted }: AbortSignal): void {
    if (error instanceof NodeHeldError) return this.#onLost(name, error);
    // A node that is handed over has another owner already.
    if (aborted) this.#logger.warn({ node: name, err: messageOf(error) }, "the node failed while it stopped");
    else if (this.#first?.has(name)) this.#failed.abort(error);
    else {
      this.#failing.note(name, error, (this.#members.current?.length ?? 0) > 1);
      this.#want(name);
    }
  }

  #onLost(name: string, { holder }: NodeHeldError): void {
    this.#logger.info({ node: name, holder }, "another instance runs the node; this one runs it again when it is free");
    this.#first?.delete(name);
    this.#failing.forget(name);
    this.#giveUp(name);
    const lostAt = this.#watch.get(name)?.observation.renewal;
    this.#want(name, { notBeforeMs: this.#clock.monotonic() + this.#durationMs, lostAt });
  }
}
