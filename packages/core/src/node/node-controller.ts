import type { Clock, Random } from "@virtual-kubelet/clock";
import { messageOf } from "@virtual-kubelet/errdefs";
import {
  Reflector,
  resources,
  type KubeClient,
  type Logger,
  type Metrics,
  type Node,
  type ServerHistory,
} from "@virtual-kubelet/kube-client";
import { isDeepStrictEqual } from "node:util";
import { groupLabel, NodeHeldError } from "./instance.ts";
import { defaultLeaseDurationSeconds, LeaseController, type LeaseState } from "./lease-controller.ts";
import { rememberedDescription } from "./node-description.ts";
import { NodeDescriber } from "./node-describer.ts";
import { NodeKeeper, nodeReference, type NodeEventRecorder, type NodeWatch, type Want } from "./node-keeper.ts";
import { hostIPsOf, isNodeReady, wantedNode, type ProviderHealth } from "./node-object.ts";
import { deleteNode, quietNode } from "./node-shutdown.ts";
import type { NodeOptions, RegisteredNode } from "../virtual-node/options.ts";
import { HealthMonitor, type PingState } from "./provider-health.ts";
import type { NodeProvider } from "../provider/node-provider.ts";

/** Share of the Lease's duration during which its holder is certain to have the node. Source: client-go's RenewDeadline is two thirds. */
const certainShare = 0.75;

const defaultPingIntervalMs = 10_000;
const defaultPingTimeoutMs = 10_000;
const defaultReportIntervalMs = 300_000;
const defaultShutdownTimeoutMs = 30_000;

export interface NodeControllerOptions {
  readonly client: KubeClient;
  readonly provider: NodeProvider;
  readonly nodeOptions: NodeOptions;
  readonly recorder: NodeEventRecorder;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Is told the versions of the Lease, and tells when the node has to be read anew. */
  readonly history?: ServerHistory | undefined;
  /** Default: a reflector on the node's name. */
  readonly watch?: NodeWatch | undefined;
  /** Whether the node starts together with many others, so that its heartbeats have to be spread. Default: `false`. */
  readonly isOneOfMany?: boolean | undefined;
  /** Called at each look at a Lease that another instance has, or has left; returns at once. */
  readonly onWatching?: (() => void) | undefined;
  /** Called when the API server refuses this node's Lease or the node itself, so that its start waits for somebody. Returns at once. */
  readonly onRefused?: (() => void) | undefined;
}

/** Options of {@link NodeController.run}. */
export interface NodeRunOptions {
  /** Time limit of the `onShutdown` policy in milliseconds; default: 30,000. */
  readonly shutdownTimeoutMs?: number | undefined;
  /** Asked when the node stops: whether it is deleted whatever `onShutdown` says. Default: it is not. */
  readonly isRemoved?: (() => boolean) | undefined;
}

interface Shutdown {
  readonly stopTasks: () => Promise<void>;
  readonly timeoutMs: number;
  readonly isRemoved: () => boolean;
  /** Rejects if the node is lost meanwhile. */
  readonly failure: Promise<never>;
}

/**
 * Maintains one node object and its Lease: registers the node, adopts an existing one, corrects changes that somebody
 * made to our fields, registers a deleted node again, and reports its readiness according to the provider.
 */
export class NodeController {
  /**
   * Resolves when the node exists at the API server and this instance holds it. Rejects with the error of {@link run},
   * or with the abort's reason, if that comes first.
   */
  readonly registered: Promise<void>;

  /**
   * Aborts as soon as another instance is found to have taken the node, with the NodeHeldError as its reason: from then on
   * nothing may be written to the API server or to the provider. {@link run} rejects somewhat later.
   */
  readonly lost: AbortSignal;

  readonly #lost = new AbortController();
  readonly #options: NodeControllerOptions;
  readonly #pingTimeoutMs: number;
  readonly #registered = Promise.withResolvers<void>();
  readonly #lease: LeaseController;
  readonly #health: HealthMonitor;
  readonly #describer: NodeDescriber;
  readonly #keeper: NodeKeeper;
  readonly #recoveryListeners = new Set<() => void>();
  readonly #apiServerListeners = new Set<() => void>();
  #isStarted = false;
  #isRegistered = false;
  #isDeleted = false;
  #hasAnswered = false;
  #inventoryLoaded = false;
  #readyHeldUntilMs: number | undefined;
  /** Series of the readiness, while the node runs here; `undefined` where there are no scrapes. */
  #readySeries: Disposable | undefined;

  constructor(options: NodeControllerOptions) {
    const { client, clock, history, logger, metrics, nodeOptions, provider, random, recorder } = options;
    const common = { client, history, nodeName: nodeOptions.name, provider, clock, random, logger, metrics, recorder };
    this.#options = options;
    this.#pingTimeoutMs = nodeOptions.pingTimeoutMs ?? defaultPingTimeoutMs;
    this.registered = this.#registered.promise;
    this.lost = this.#lost.signal;
    // A caller that only awaits run() gets the failure there.
    this.registered.catch(() => {});
    const { identity, standby = false, group, seen } = nodeOptions.instance;
    this.#lease = new LeaseController({
      ...common,
      instance: { nodeName: nodeOptions.name, identity, startId: random.uuid(), group },
      standby,
      seen,
      marks: group === undefined ? undefined : { labels: { [groupLabel]: group } },
      durationSeconds: nodeOptions.leaseDurationSeconds ?? defaultLeaseDurationSeconds,
      spreads: options.isOneOfMany,
      onWatching: options.onWatching,
      onRefused: options.onRefused,
      onRecovered: () => this.#onApiServerRecovered(),
    });
    this.#health = new HealthMonitor({
      ...common,
      intervalMs: nodeOptions.pingIntervalMs ?? defaultPingIntervalMs,
      timeoutMs: this.#pingTimeoutMs,
      toleranceMs: nodeOptions.pingToleranceMs ?? provider.pingToleranceMs ?? 0,
      onChange: (health, previous) => this.#onHealth(health, previous),
      onAnswersAgain: () => {
        this.#describer.refresh();
        this.#call(this.#recoveryListeners);
      },
    });
    this.#describer = new NodeDescriber({ ...common, timeoutMs: this.#pingTimeoutMs, onChange: () => this.#keeper.refresh() });
    this.#keeper = new NodeKeeper({
      ...common,
      watch:
        options.watch ??
        new Reflector<Node>({ ...common, resource: resources.nodes, query: { fieldSelector: `metadata.name=${nodeOptions.name}` } }),
      isOneOfMany: options.isOneOfMany,
      onRefused: options.onRefused,
      reportIntervalMs: nodeOptions.statusReportIntervalMs ?? defaultReportIntervalMs,
      want: (current) => this.#want(current),
      onNode: (node, previous) => this.#onNode(node, previous),
    });
  }

  /** The node as last seen at the API server; `undefined` before registration, and while it is gone. */
  get node(): RegisteredNode | undefined {
    return this.#keeper.node;
  }

  /** Whether the stop has deleted the node. */
  get isDeleted(): boolean {
    return this.#isDeleted;
  }

  /** Host addresses for the status of pods: one, or one of each IP family; empty if the node has none. */
  get hostIPs(): readonly string[] {
    return hostIPsOf(this.node?.status?.addresses ?? []);
  }

  /** Whether the provider answers pings, or its failures are tolerated. */
  get providerUp(): boolean {
    return this.#health.health.kind === "up";
  }

  /** Milliseconds since the Lease was last renewed; absent before this instance holds it. */
  get leaseAgeMs(): number | undefined {
    const { renewedMs } = this.#lease;
    return renewedMs === undefined ? undefined : this.#options.clock.monotonic() - renewedMs;
  }

  /**
   * Whether no other instance can have taken the node. Only for an instance that would stand by itself or shares its nodes, because then there
   * can be others: its last renewal must be younger than three quarters of the Lease, which leaves time for the answer and for the clocks.
   */
  get isHeld(): boolean {
    return this.heldForMs > 0;
  }

  /** Milliseconds for which {@link isHeld} stays true without a further renewal; infinite where there can be no other instance. */
  get heldForMs(): number {
    const { instance, leaseDurationSeconds = defaultLeaseDurationSeconds } = this.#options.nodeOptions;
    const hasOthers = instance.standby === true || instance.group !== undefined;
    return hasOthers ? leaseDurationSeconds * 1000 * certainShare - (this.leaseAgeMs ?? 0) : Infinity;
  }

  /** Whether this instance waits while another one runs the node. */
  get isStandingBy(): boolean {
    return this.#lease.isStandingBy;
  }

  /**
   * Leaves the node to the instances that stand by, if there can be any. To be called after {@link run}, when nothing of this instance
   * changes the node's pods any more. A failure only delays the other instance, and is logged.
   */
  async handOver(signal: AbortSignal): Promise<void> {
    const { logger, nodeOptions } = this.#options;
    const { standby, group } = nodeOptions.instance;
    if ((standby !== true && group === undefined) || this.leaseAgeMs === undefined) return;
    try {
      await this.#lease.handOver(signal);
    } catch (error) {
      logger.warn({ err: messageOf(error) }, "cannot hand the node over; an instance that stands by takes it when the lease has expired");
    }
  }

  /** Who holds the node's Lease. */
  get leaseState(): LeaseState {
    return this.#lease.state;
  }

  /** What the pings of the provider show. */
  get pingState(): PingState {
    return this.#health.state;
  }

  /** Marks the first inventory as complete, which allows the node to become Ready. */
  markInventoryLoaded(): void {
    this.#inventoryLoaded = true;
    this.#keeper.refresh();
  }

  /**
   * Calls the listener when the provider answers again after an outage, and when the node was registered again or its
   * labels, addresses or allocatable resources changed, because refused or failed work may succeed now. The listener
   * returns at once.
   */
  onProviderRecovered(listener: () => void): Disposable {
    this.#recoveryListeners.add(listener);
    return { [Symbol.dispose]: () => void this.#recoveryListeners.delete(listener) };
  }

  /**
   * Calls the listener when the API server accepts the Lease again after failures, so that retries need not wait.
   * The listener returns at once.
   */
  onApiServerRecovered(listener: () => void): Disposable {
    this.#apiServerListeners.add(listener);
    return { [Symbol.dispose]: () => void this.#apiServerListeners.delete(listener) };
  }

  /**
   * Holds the node, registers it and maintains it until aborted; may be called once. Before the node is held, neither
   * the node object nor the provider is touched. After the abort everything continues while the shutdown policy runs,
   * so that a drain's pods can end.
   *
   * @throws NodeHeldError if another instance runs the node, at the start or later
   */
  async run(signal: AbortSignal, options: NodeRunOptions = {}): Promise<void> {
    if (this.#isStarted)
      throw new Error(`run node ${this.#options.nodeOptions.name}: it was run before; make a new controller for each run`);
    this.#isStarted = true;
    try {
      await this.#lease.claim(signal);
      await this.#run(signal, options.shutdownTimeoutMs ?? defaultShutdownTimeoutMs, options.isRemoved ?? (() => false));
      this.#registered.reject(signal.reason);
    } catch (error) {
      this.#registered.reject(error);
      if (!signal.aborted || error !== signal.reason) throw error;
    }
  }

  async #run(signal: AbortSignal, timeoutMs: number, isRemoved: () => boolean): Promise<void> {
    const end = new AbortController();
    const { promise: failure, reject: fail } = Promise.withResolvers<never>();
    const ended = [this.#lease.run(end.signal), this.#health.run(end.signal), this.#runNode(end.signal)].map((task) =>
      task.catch((error: unknown) => {
        if (error instanceof NodeHeldError) this.#lost.abort(error);
        if (!end.signal.aborted) fail(error);
      }),
    );
    const stopTasks = async (): Promise<void> => {
      end.abort(signal.reason);
      await Promise.all(ended);
    };
    try {
      await Promise.race([whenAborted(signal), failure]);
      await Promise.race([this.#shutDown({ stopTasks, timeoutMs, failure, isRemoved }), failure]);
    } finally {
      await stopTasks();
      this.#readySeries?.[Symbol.dispose]();
    }
  }

  async #runNode(signal: AbortSignal): Promise<void> {
    await this.#describer.start(signal);
    await Promise.all([this.#describer.run(signal), this.#keeper.run(signal)]);
  }

  async #shutDown({ stopTasks, timeoutMs, failure, isRemoved }: Shutdown): Promise<void> {
    const { client, clock, logger, nodeOptions } = this.#options;
    const policy = isRemoved() ? "delete" : (nodeOptions.onShutdown ?? "keep");
    const { node } = this;
    if (!node || policy === "keep") return;
    this.#keeper.leaveCordoned();
    const limit = new AbortController();
    const overdue = new Error(`the shutdown policy ${policy} took longer than ${timeoutMs / 1000} s`);
    using _timer = clock.setTimer(timeoutMs, () => limit.abort(overdue));
    failure.catch((error: unknown) => limit.abort(error));
    const shutdown = { client, clock, logger, nodeName: nodeOptions.name };
    await quietNode(policy, shutdown, node, limit.signal);
    if (policy !== "delete") return;
    // Otherwise the node and its Lease would be created again.
    await stopTasks();
    try {
      // An instance that could not renew the Lease may have lost the node without noticing.
      if (!(await this.#lease.isFreeOrOurs(limit.signal)))
        return logger.warn({}, "the node is not deleted, because another instance runs it");
      await deleteNode(shutdown, node, limit.signal);
      this.#isDeleted = true;
      await this.#lease.release(limit.signal);
    } catch (error) {
      logger.warn({ err: messageOf(error) }, "the node could not be deleted");
    }
  }

  #want(current: RegisteredNode | undefined): Want {
    const { clock, nodeOptions } = this.#options;
    const { health } = this.#health;
    const state = { health, answered: this.#hasAnswered, inventoryLoaded: this.#inventoryLoaded };
    const node = wantedNode(nodeOptions, this.#describer.description ?? (current ? rememberedDescription(current) : {}), state);
    // A node that was Ready stays so during the first ping, so that a quick restart does not make it flap.
    this.#readyHeldUntilMs ??= clock.monotonic() + (isNodeReady(current) ? this.#pingTimeoutMs : 0);
    const heldMs = this.#readyHeldUntilMs - clock.monotonic();
    const isStarting = health.kind !== "down" && !(state.answered && state.inventoryLoaded);
    if (heldMs <= 0 || !isStarting || !isNodeReady(current)) return { node };
    return { node: { ...node, conditions: node.conditions.filter(({ type }) => type !== "Ready") }, validForMs: heldMs };
  }

  #onNode(node: RegisteredNode | undefined, previous: RegisteredNode | undefined): void {
    this.#lease.setNodeUid(node?.metadata?.uid);
    const { metrics, nodeOptions } = this.#options;
    const labels = { node: nodeOptions.name };
    this.#readySeries ??= metrics.sampled?.("vk_node_ready", () => (isNodeReady(this.node) ? 1 : 0), labels);
    if (!this.#readySeries) metrics.gauge("vk_node_ready", isNodeReady(node) ? 1 : 0, labels);
    if (!node) return;
    this.#registered.resolve();
    const isFirst = !this.#isRegistered;
    this.#isRegistered = true;
    if (!isFirst && !isDeepStrictEqual(whatPodsSee(node), whatPodsSee(previous))) this.#call(this.#recoveryListeners);
  }

  #onHealth(health: ProviderHealth, previous: ProviderHealth): void {
    const { nodeOptions, recorder } = this.#options;
    const { node } = this;
    if (health.kind === "up") this.#hasAnswered = true;
    this.#keeper.refresh();
    if (node && health.kind === "down" && previous.kind !== "down") {
      recorder.event(nodeReference(node), "Warning", "ProviderPingFailed", health.message);
    }
    if (node && health.kind === "up" && previous.kind === "down")
      recorder.event(nodeReference(node), "Normal", "ProviderRecovered", `The provider of node ${nodeOptions.name} answers again`);
  }

  #onApiServerRecovered(): void {
    this.#keeper.distrustWatch();
    this.#call(this.#apiServerListeners);
  }

  #call(listeners: ReadonlySet<() => void>): void {
    for (const listener of listeners) {
      try {
        listener();
      } catch (error) {
        this.#options.logger.error({ err: messageOf(error) }, "a listener of the node failed");
      }
    }
  }
}

/** The fields of a node on which admission and status of pods depend. */
function whatPodsSee(node: RegisteredNode | undefined): unknown {
  return [node?.metadata?.uid, node?.metadata?.labels, node?.status?.addresses, node?.status?.allocatable];
}

async function whenAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
