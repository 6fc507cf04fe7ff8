import { untilAborted } from "@virtual-kubelet/async";
import type { NodeDescription } from "@virtual-kubelet/core";
import { InvalidInputError, isNotFound, messageOf, UnavailableError } from "@virtual-kubelet/errdefs";
import { resources, type DeepReadonly, type Node, type Store } from "@virtual-kubelet/kube-client";
import { isDeepStrictEqual } from "node:util";
import { readsFarNodes, readsQuotas } from "../config/node.ts";
import type { FarNode } from "../far/far-node.ts";
import { farMetrics } from "../far/far-metrics.ts";
import { capacityProblem, describeNode, selectedNodes, type FarFacts } from "./describe-node.ts";
import { readinessProblem } from "./far-nodes.ts";
import type { RequestsByNode } from "./node-resources.ts";
import { readOthersRequests } from "./other-pods.ts";
import { watchQuotas, type QuotaWatch } from "./quota-watch.ts";
import type { Overlap, SharedSelections } from "./shared-selections.ts";

/** Time for which changes of far nodes are collected: a heartbeat changes nothing, and a rollout changes many. */
const settleMs = 2_000;

/** Interval at which requests of others, and rights that were missing, are read again. */
const refreshMs = 60_000;

/** Describes a virtual node by the far cluster, and tells when the description changes. */
export class NodeWatch implements AsyncDisposable {
  readonly #node: FarNode;
  readonly #selections: SharedSelections;
  readonly #abort = new AbortController();
  readonly #subscriptions: Disposable[] = [];
  #nodes: Store<Node> | undefined;
  #quotas: QuotaWatch | undefined;
  #openingQuotas: Promise<QuotaWatch | undefined> | undefined;
  #others: RequestsByNode | undefined;
  #readingOthers: Promise<void> | undefined;
  #described: NodeDescription | undefined;
  #listener: (() => void) | undefined;
  #settling: Disposable | undefined;
  #refreshing: Promise<void> | undefined;
  /** Overlaps that were told. */
  #overlaps = "";

  /** @param selections - of all virtual nodes of the process */
  constructor(node: FarNode, selections: SharedSelections) {
    this.#node = node;
    this.#selections = selections;
  }

  /** Returns the description. While the far cluster is away it is that of the last known state. @throws if nothing is known yet */
  async describe(signal: AbortSignal): Promise<NodeDescription> {
    await this.#read(signal);
    this.#tellOverlaps();
    this.#described = this.#describe();
    return this.#described;
  }

  /** Calls the listener when the description has changed. */
  listen(listener: () => void): void {
    this.#listener = listener;
    this.#refreshing ??= this.#refresh();
  }

  /**
   * Checks that the only far node of the virtual node is there and ready.
   *
   * @throws UnavailableError with the far node's words
   */
  async checkFarNode(signal: AbortSignal): Promise<void> {
    const { far, config } = this.#node;
    const { farNode } = config.scheduling;
    if (farNode === undefined) return;
    const known = this.#nodes?.getByName(undefined, farNode) ?? (await readNode(far.connection.client, farNode, signal));
    const problem = known ? readinessProblem(known) : "the far cluster does not have it";
    if (problem !== undefined) throw new UnavailableError(`far node ${farNode} is not ready: ${problem}`);
  }

  /** @throws InvalidInputError if the capacity is not known, with the remedy */
  async checkCapacity(signal: AbortSignal): Promise<void> {
    await this.#read(signal);
    const problem = capacityProblem(this.#facts(), this.#node.config);
    if (problem !== undefined) throw new InvalidInputError(problem);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort(new Error("the virtual node is closed"));
    this.#settling?.[Symbol.dispose]();
    for (const subscription of this.#subscriptions.splice(0)) subscription[Symbol.dispose]();
    this.#selections.delete(this.#node.far, this.#node.owner.nodeName);
    await Promise.allSettled([this.#refreshing, this.#readingOthers, this.#openingQuotas, this.#quotas?.done]);
  }

  #describe(): NodeDescription {
    return describeNode(this.#facts(), this.#node.config);
  }

  #facts(): FarFacts {
    const { namespaces } = this.#node;
    return {
      nodes: this.#nodes && [...this.#nodes.list()],
      others: this.#others,
      quotas: this.#quotas && [...this.#quotas.store.list()],
      namespace: namespaces.only,
    };
  }

  /** Reads what is not known yet; what is followed is only looked at. */
  async #read(signal: AbortSignal): Promise<void> {
    const { far, config, namespaces } = this.#node;
    const { others } = config.node;
    if (!this.#nodes && readsFarNodes(config)) {
      this.#nodes = await untilAborted(far.nodes(), signal);
      if (this.#nodes) this.#follow(this.#nodes);
    }
    const needsQuotas = this.#nodes === undefined && readsQuotas(config);
    if (!this.#quotas && needsQuotas && namespaces.only !== undefined) {
      this.#quotas = await untilAborted(this.#openQuotas(namespaces.only), signal);
      if (this.#quotas) this.#follow(this.#quotas.store);
    }
    const needsOthers = this.#nodes !== undefined && others !== "ignore";
    if (!this.#others && needsOthers) await this.#readOthers(signal);
  }

  /** Opens one watch for all calls that wait for it. */
  #openQuotas(namespace: string): Promise<QuotaWatch | undefined> {
    const { far, host } = this.#node;
    const { clock, random, logger } = host;
    const options = { far, namespace, clock, random, logger, metrics: farMetrics(host.metrics) };
    this.#openingQuotas ??= watchQuotas(options, this.#abort.signal).finally(() => (this.#openingQuotas = undefined));
    return this.#openingQuotas;
  }

  /** Reads once for all calls that wait for it; in a large far cluster that takes longer than one call may. */
  #readOthers(signal: AbortSignal): Promise<void> {
    this.#readingOthers ??= this.#readOthersNow().finally(() => (this.#readingOthers = undefined));
    return untilAborted(this.#readingOthers, signal);
  }

  async #readOthersNow(): Promise<void> {
    const { far, owner, config } = this.#node;
    const { signal } = this.#abort;
    const { farNode } = config.scheduling;
    this.#others = await readOthersRequests({ client: far.connection.client, owner, farNode }, signal);
  }

  #follow(store: { subscribe(listener: () => void): Disposable }): void {
    this.#subscriptions.push(store.subscribe(() => this.#changed()));
  }

  async #refresh(): Promise<void> {
    const { clock, logger } = this.#node.host;
    const { signal } = this.#abort;
    while (!signal.aborted) {
      try {
        await clock.sleep(refreshMs, signal);
        if (this.#others) await this.#readOthers(signal);
        await this.#read(signal);
        this.#changed();
      } catch (error) {
        if (!signal.aborted) logger.debug({ err: messageOf(error) }, "the far nodes cannot be read; their last state stays");
      }
    }
  }

  #changed(): void {
    if (this.#settling || this.#abort.signal.aborted) return;
    this.#settling = this.#node.host.clock.setTimer(settleMs, () => {
      this.#settling = undefined;
      if (!isDeepStrictEqual(this.#describe(), this.#described)) this.#listener?.();
    });
  }

  #tellOverlaps(): void {
    const { far, host, owner, config } = this.#node;
    const names = (selectedNodes(this.#facts(), config) ?? []).map(({ name }) => name);
    const overlaps = this.#selections.set(far, owner.nodeName, names);
    const message = overlaps.map(inWords).join("; ");
    if (message !== "" && message !== this.#overlaps) {
      host.logger.warn({ overlaps: message }, "virtual nodes count the capacity of the same far nodes twice");
      host.recordNodeEvent?.({ type: "Warning", reason: "FarNodesCountedTwice", message });
    }
    this.#overlaps = message;
  }
}

function inWords({ nodeName, farNodes }: Overlap): string {
  const more = farNodes.length > 3 ? ` and ${farNodes.length - 3} more` : "";
  return `node ${nodeName} also counts the capacity of ${farNodes.slice(0, 3).join(", ")}${more}; give each its own scheduling.nodeSelector`;
}

/** Asks the far cluster itself: a watch that has not seen a node is no proof. */
async function readNode(
  client: FarNode["far"]["connection"]["client"],
  name: string,
  signal: AbortSignal,
): Promise<DeepReadonly<Node> | undefined> {
  try {
    return await client.get(resources.nodes, { name }, { signal });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
