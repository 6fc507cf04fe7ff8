import { Signal } from "@virtual-kubelet/async";
import { systemClock, systemRandom, type Clock, type Random } from "@virtual-kubelet/clock";
import { InvalidInputError, messageOf } from "@virtual-kubelet/errdefs";
import { backoffMs, isGoneObject, listAll, noMetrics, resources, silentLogger, type Logger } from "@virtual-kubelet/kube-client";
import { rfc3339 } from "@virtual-kubelet/kubernetes";
import { askUntilAnswered } from "../api-server/ask-until-answered.ts";
import { readClusterId } from "../api-server/cluster-id.ts";
import { FailingNodes, type NodeFailure } from "../node-pool/failing-nodes.ts";
import { NodeHeldError } from "../node/instance.ts";
import { defaultLeaseDurationSeconds } from "../node/lease-controller.ts";
import type { NodeDiscovery } from "../provider/node-discovery.ts";
import type { ProviderDefinition } from "../provider/provider-definition.ts";
import type { NodeOptions, VirtualNodeOptions } from "../virtual-node/options.ts";
import { parseProviderConfig } from "../virtual-node/provider-binding.ts";
import type { RunOptions } from "../virtual-node/run-options.ts";
import { VirtualNode } from "../virtual-node/virtual-node.ts";
import {
  discoveredByLabel,
  discoveredMarks,
  discoveredNodeName,
  fleetLabelValue,
  isDiscoveredName,
  rememberedName,
} from "./discovered-name.ts";
import { isRemovable, nextLookMs, type Absence } from "./removal.ts";

/** Default of {@link DiscoveredNodesOptions.removalGraceMs}. */
const defaultRemovalGraceMs = 300_000;

/** Deadline of the list that confirms that a node is gone, in milliseconds. */
const confirmTimeoutMs = 60_000;

/** Back-off of the discovery after an error. */
const discoveryBackoff = { initialMs: 1_000, maxMs: 60_000 };

/** Options of {@link DiscoveredNodes}. */
export interface DiscoveredNodesOptions<Config = unknown> extends Omit<VirtualNodeOptions<Config>, "counterpartProblem"> {
  /**
   * Time in milliseconds from the first list of the back end without a node to its removal from the cluster; default: 300,000. The
   * node stays longer while pods are on it, and until the back end confirms once more that it is gone.
   */
  readonly removalGraceMs?: number | undefined;
  /** Returns the options of one virtual node from those for all, which have its name already. Default: unchanged. */
  readonly nodeOptions?: ((options: NodeOptions) => NodeOptions) | undefined;
  /** Called before a virtual node runs, for example to serve it. The result is disposed when it has ended. Default: nothing. */
  readonly onNode?: ((node: VirtualNode) => Disposable) | undefined;
}

interface Entry {
  /** Name of the virtual node. */
  readonly nodeName: string;
  /** `undefined` while a node that failed waits for its next try. */
  node: VirtualNode | undefined;
  readonly stop: AbortController;
  ended: Promise<void>;
  hasFailed: boolean;
  absentSinceMs: number | undefined;
  /** Wall-clock time of {@link absentSinceMs}. */
  absentSince: string;
  isRemoved: boolean;
}

/**
 * One virtual node for each node that a provider's {@link ProviderDefinition.discoverNodes} finds. Nodes appear and vanish while it runs.
 *
 * A virtual node whose counterpart is gone counts as one whose back end is down ({@link NodeOptions.onProviderDown}), so that no further pods
 * come. Its Node is deleted when no pods are left, a grace time has passed and the back end confirms that the counterpart is gone. While the
 * back end does not answer, nothing changes: after a restart of the program, the nodes of the last run continue.
 *
 * @example
 * ```ts
 * const served: ServedNode[] = [];
 * const nodes = new DiscoveredNodes({
 *   client, provider, providerConfig, node: { name: "far", kubeletPort: 10250, instance: { identity: "a" } },
 *   onNode: (node) => {
 *     served.push({ access: node.access });
 *     return { [Symbol.dispose]: () => void served.splice(served.findIndex(({ access }) => access === node.access), 1) };
 *   },
 * });
 * await nodes.run(signal);
 * ```
 */
export class DiscoveredNodes<Config = unknown> {
  readonly #options: DiscoveredNodesOptions<Config>;
  readonly #prefix: string;
  readonly #config: Config;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #logger: Logger;
  readonly #entries = new Map<string, Entry>();
  readonly #changes = new Signal();
  readonly #failed = new AbortController();
  readonly #ready = Promise.withResolvers<void>();
  /** Names in the last list. */
  #present: ReadonlySet<string> | undefined;
  #isRemembered = false;
  readonly #failing: FailingNodes;
  /** Whether one of the nodes has been ready. */
  #hasSucceeded = false;

  /** @throws InvalidInputError for a configuration that does not fit the schema */
  constructor(options: DiscoveredNodesOptions<Config>) {
    this.#options = options;
    this.#prefix = options.node.name;
    this.#config = parseProviderConfig(options) as Config;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? systemRandom;
    this.#logger = (options.logger ?? silentLogger).child({ nodes: this.#prefix });
    const { leaseDurationSeconds = defaultLeaseDurationSeconds } = options.node;
    this.#failing = new FailingNodes({
      durationMs: leaseDurationSeconds * 1000,
      clock: this.#clock,
      random: this.#random,
      logger: this.#logger,
      metrics: options.metrics ?? noMetrics,
    });
    // A caller that only awaits run() gets the failure there.
    this.#ready.promise.catch(() => {});
  }

  /** The virtual nodes that run now. */
  get nodes(): readonly VirtualNode[] {
    return [...this.#entries.values()].flatMap(({ node }) => node ?? []);
  }

  /** Virtual nodes whose last run failed; they are tried again. */
  get failing(): readonly NodeFailure[] {
    return this.#failing.list();
  }

  /** Whether the back end has listed its nodes. */
  get isListed(): boolean {
    return this.#present !== undefined;
  }

  /** Resolves when the back end has listed its nodes and all of their virtual nodes are ready; rejects if {@link run} ends before. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** Whether {@link ready} holds now, and whether all that is missing are nodes that another instance runs. */
  get health(): { readonly ready: boolean; readonly standingBy: boolean } {
    const healths = [...this.#entries.values()].map(({ node }) => node?.health ?? { ready: false, standingBy: false });
    const isReady = this.isListed && this.#isRemembered && healths.every(({ ready }) => ready);
    const waits = healths.some(({ standingBy }) => standingBy);
    return { ready: isReady, standingBy: !isReady && waits && healths.every(({ ready, standingBy }) => ready || standingBy) };
  }

  /**
   * Runs the virtual nodes until aborted; may be called once. Then all of them stop as {@link VirtualNode.run} does. A virtual node that fails is
   * tried again, and the others go on.
   *
   * @throws InvalidInputError if the provider discovers no nodes with this configuration; NodeHeldError if another instance runs a virtual node;
   * the error of a virtual node if all of them fail before one was ready, because the settings may be wrong. The others stop before
   */
  async run(signal: AbortSignal, options: Omit<RunOptions, "isRemoved"> = {}): Promise<void> {
    const stop = AbortSignal.any([signal, this.#failed.signal]);
    try {
      await this.#run(stop, options);
    } catch (error) {
      if (error !== stop.reason) this.#failed.abort(error);
    }
    await Promise.all([...this.#entries.values()].map(({ ended }) => ended));
    this.#failing[Symbol.dispose]();
    this.#ready.reject(stop.reason ?? new Error("the nodes were stopped before they were ready"));
    if (this.#failed.signal.aborted && !signal.aborted) throw this.#failed.signal.reason;
  }

  async #run(stop: AbortSignal, options: RunOptions): Promise<void> {
    const { client, provider } = this.#options;
    const common = { clock: this.#clock, random: this.#random, logger: this.#logger };
    const clusterId = this.#options.clusterId ?? (await readClusterId(client, common, stop));
    const host = { prefix: this.#prefix, clusterId, metrics: this.#options.metrics ?? noMetrics, ...common };
    const discovery = provider.discoverNodes?.(host, this.#config);
    if (!discovery)
      throw new InvalidInputError(`run the nodes of ${this.#prefix}: provider ${provider.name} discovers no nodes with this configuration`);
    const ensure = (name: string): void => this.#ensure(name, { discovery, clusterId, stop, options });
    const tasks = [
      this.#remember(ensure, stop),
      this.#discover(discovery, ensure, stop),
      this.#removeAbsent(discovery, ensure, stop),
      this.#watchReadiness(stop),
    ];
    await Promise.all(tasks);
  }

  /** Continues the nodes of the last run, which the back end may not list for a while. */
  async #remember(ensure: (name: string) => void, signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    const common = { clock: this.#clock, random: this.#random, logger: this.#logger };
    const query = { labelSelector: `${discoveredByLabel}=${fleetLabelValue(this.#prefix)}` };
    const nodes = await askUntilAnswered(
      () => listAll(client, resources.nodes, query, { signal }),
      () => false,
      common,
      signal,
    );
    for (const node of nodes) {
      const name = rememberedName(this.#prefix, node);
      if (name !== undefined) ensure(name);
    }
    this.#isRemembered = true;
    this.#onPresence(ensure);
  }

  async #discover(discovery: NodeDiscovery, ensure: (name: string) => void, signal: AbortSignal): Promise<void> {
    for (let failures = 1; ; failures++) {
      try {
        for await (const list of discovery.discover(signal)) {
          failures = 0;
          this.#present = this.#namesOf(list);
          this.#onPresence(ensure);
        }
        signal.throwIfAborted();
        this.#logger.warn({}, "the provider stopped to look for nodes; it is asked again");
      } catch (error) {
        signal.throwIfAborted();
        this.#logger.warn({ err: messageOf(error) }, "the provider could not list the nodes of its back end; trying again");
      }
      await this.#clock.sleep(backoffMs(discoveryBackoff, Math.max(1, failures), this.#random), signal);
    }
  }

  #namesOf(list: unknown): ReadonlySet<string> {
    if (!Array.isArray(list)) throw new InvalidInputError("the provider's list of nodes is no list: this is a fault of the provider");
    const names = list.map((each: unknown) => (each as { readonly name?: unknown } | null)?.name);
    const wrong = names.filter((name) => !isDiscoveredName(name));
    if (wrong.length > 0)
      this.#logger.warn({ names: wrong.slice(0, 5) }, "the back end has nodes whose names cannot be names of Nodes; they are left out");
    return new Set(names.filter(isDiscoveredName));
  }

  /** Starts the virtual nodes of the last list, and notes which nodes it lacks. */
  #onPresence(ensure: (name: string) => void): void {
    if (!this.#present) return;
    for (const name of this.#present) ensure(name);
    for (const [name, entry] of this.#entries) {
      const isAbsent = !this.#present.has(name);
      if (isAbsent === (entry.absentSinceMs !== undefined)) continue;
      entry.absentSinceMs = isAbsent ? this.#clock.monotonic() : undefined;
      entry.absentSince = rfc3339(this.#clock.now());
      const message = isAbsent ? "the back end no longer has the node" : "the back end has the node again";
      this.#logger.info({ node: entry.nodeName }, message);
    }
    this.#changes.notify();
  }

  #ensure(name: string, parts: NodeParts): void {
    if (this.#entries.has(name) || parts.stop.aborted) return;
    const entry: Entry = {
      nodeName: discoveredNodeName(this.#prefix, name),
      node: undefined,
      stop: new AbortController(),
      ended: Promise.resolve(),
      hasFailed: false,
      absentSinceMs: undefined,
      absentSince: "",
      isRemoved: false,
    };
    this.#entries.set(name, entry);
    entry.ended = this.#keepRunning(name, entry, parts);
  }

  /** Runs a virtual node, and again after each failure, until it is stopped. */
  async #keepRunning(name: string, entry: Entry, parts: NodeParts): Promise<void> {
    const { nodeName } = entry;
    const signal = AbortSignal.any([parts.stop, entry.stop.signal]);
    while (!signal.aborted) {
      try {
        await this.#runOnce(name, entry, parts, signal);
        if (!signal.aborted) throw new Error(`node ${nodeName} ended unexpectedly`);
      } catch (error) {
        if (signal.aborted) this.#logger.warn({ node: nodeName, err: messageOf(error) }, "the node failed while it stopped");
        else if (error instanceof NodeHeldError || this.#isFatal(entry)) this.#failed.abort(error);
        else await this.#backOff(entry, error, signal);
      }
    }
  }

  async #runOnce(name: string, entry: Entry, parts: NodeParts, signal: AbortSignal): Promise<void> {
    const node = this.#newNode(name, entry.nodeName, parts);
    using _served = this.#options.onNode?.(node);
    entry.node = node;
    node.ready.then(
      () => {
        this.#hasSucceeded = true;
        this.#failing.noteReady(entry.nodeName);
      },
      () => {},
    );
    this.#logger.info({ node: entry.nodeName, counterpart: name }, "a virtual node starts");
    try {
      await node.run(signal, { ...parts.options, isRemoved: () => entry.isRemoved });
    } finally {
      entry.node = undefined;
    }
  }

  /** Whether all nodes of the list fail before one was ready: the settings may be wrong, which should show at once. */
  #isFatal(failed: Entry): boolean {
    failed.hasFailed = true;
    return this.isListed && !this.#hasSucceeded && [...this.#entries.values()].every(({ hasFailed }) => hasFailed);
  }

  async #backOff({ nodeName }: Entry, error: unknown, signal: AbortSignal): Promise<void> {
    const delayMs = this.#failing.note(nodeName, error, this.#options.node.instance.standby === true);
    await this.#clock.sleep(delayMs, signal).catch(() => {});
  }

  #newNode(name: string, nodeName: string, { discovery, clusterId }: NodeParts): VirtualNode {
    const { node, nodeOptions = (same: NodeOptions): NodeOptions => same, provider } = this.#options;
    const marks = discoveredMarks(this.#prefix, name);
    const options = nodeOptions({
      ...node,
      name: nodeName,
      labels: { ...node.labels, ...marks.labels },
      annotations: { ...node.annotations, ...marks.annotations },
    });
    return new VirtualNode({
      ...(this.#options as VirtualNodeOptions),
      provider: withConfig(provider, discovery.configOf(name)),
      clusterId,
      node: options,
      counterpartProblem: () => {
        const { absentSinceMs, absentSince } = this.#entries.get(name) ?? {};
        return absentSinceMs === undefined ? undefined : `node ${name} is gone at the back end since ${absentSince}`;
      },
    });
  }

  /** Removes the virtual nodes whose counterparts are gone. */
  async #removeAbsent(discovery: NodeDiscovery, ensure: (name: string) => void, signal: AbortSignal): Promise<void> {
    const { removalGraceMs: graceMs = defaultRemovalGraceMs } = this.#options;
    for (;;) {
      const nowMs = this.#clock.monotonic();
      await this.#changes.wait(Math.min(nextLookMs(this.#absences(), graceMs, nowMs), Number.MAX_SAFE_INTEGER), this.#clock, signal);
      const due = [...this.#entries].filter(([, entry]) => isRemovable(absenceOf(entry), graceMs, this.#clock.monotonic()));
      if (due.length === 0) continue;
      const confirmed = await this.#confirmList(discovery, signal);
      if (!confirmed) {
        await this.#clock.sleep(discoveryBackoff.maxMs, signal);
        continue;
      }
      const gone = due.filter(([name, entry]) => !confirmed.has(name) && isRemovable(absenceOf(entry), graceMs, this.#clock.monotonic()));
      await Promise.all(gone.map(([name, entry]) => this.#remove(name, entry, { ensure, signal })));
      this.#onPresence(ensure);
    }
  }

  #absences(): Absence[] {
    return [...this.#entries.values()].map(absenceOf);
  }

  async #remove(
    name: string,
    entry: Entry,
    { ensure, signal }: { readonly ensure: (name: string) => void; readonly signal: AbortSignal },
  ): Promise<void> {
    this.#logger.info(
      { node: entry.nodeName, since: entry.absentSince },
      "the virtual node of a node that is gone at the back end is removed",
    );
    entry.isRemoved = true;
    entry.stop.abort(new Error(`its counterpart ${name} is gone at the back end`));
    await entry.ended;
    this.#entries.delete(name);
    this.#failing.forget(entry.nodeName);
    if (await this.#isDeleted(entry.nodeName, signal)) return;
    // It could not be deleted, and is removed later.
    ensure(name);
    const again = this.#entries.get(name);
    if (again) Object.assign(again, { absentSinceMs: entry.absentSinceMs, absentSince: entry.absentSince });
  }

  async #isDeleted(nodeName: string, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#options.client.get(resources.nodes, { name: nodeName }, { signal });
      return false;
    } catch (error) {
      return isGoneObject(error, resources.nodes, nodeName);
    }
  }

  /** Asks the back end for a new list. @returns `undefined` if it does not answer */
  async #confirmList(discovery: NodeDiscovery, signal: AbortSignal): Promise<ReadonlySet<string> | undefined> {
    const end = new AbortController();
    using _timer = this.#clock.setTimer(confirmTimeoutMs, () => end.abort(new Error("the back end did not answer in time")));
    try {
      for await (const list of discovery.discover(AbortSignal.any([signal, end.signal]))) return this.#namesOf(list);
    } catch (error) {
      signal.throwIfAborted();
      this.#logger.warn({ err: messageOf(error) }, "the back end does not confirm that a node is gone; its virtual node stays");
    }
    return undefined;
  }

  async #watchReadiness(signal: AbortSignal): Promise<void> {
    while (!this.health.ready) await this.#clock.sleep(readinessIntervalMs, signal);
    this.#ready.resolve();
  }
}

/** Interval at which it is looked whether all nodes are ready, in milliseconds. */
const readinessIntervalMs = 200;

interface NodeParts {
  readonly discovery: NodeDiscovery;
  readonly clusterId: string;
  readonly stop: AbortSignal;
  readonly options: RunOptions;
}

function absenceOf({ absentSinceMs, isRemoved, node }: Entry): Absence {
  return { absentSinceMs, isRemoved, keepsPods: node?.keepsPods ?? true };
}

/** The definition for a configuration that need not fit the schema. */
function withConfig(definition: ProviderDefinition, config: unknown): ProviderDefinition {
  return { ...definition, configSchema: { safeParse: () => ({ success: true, data: config }) } };
}
