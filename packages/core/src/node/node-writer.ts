import { withDeadline } from "@virtual-kubelet/async";
import type { Clock, Random } from "@virtual-kubelet/clock";
import { isForbidden, isNotFound, messageOf } from "@virtual-kubelet/errdefs";
import {
  resources,
  type DeepReadonly,
  type KubeClient,
  type Logger,
  type Metrics,
  type Node,
  type Patch,
  type TransportPool,
} from "@virtual-kubelet/kube-client";
import { isMissingRight } from "../api-server/missing-right.ts";
import { isOtherObject } from "../api-server/other-object.ts";
import type { RegisteredNode } from "../virtual-node/options.ts";
import type { WantedNode } from "./node-object.ts";
import { joinKeys, ownedKeys, ownedKeysAnnotation, parseOwnedKeys, type OwnedKeys } from "./node-owned-keys.ts";
import { isKubeletsLabel, planNode, planNodePatches } from "./node-patch.ts";

/** Deadline of one request. Source: a kubelet's heartbeat client, whose time-out is nodeStatusUpdateFrequency. */
const requestTimeoutMs = 10_000;

/** Maximum number of attempts of one write after conflicts. Source: kubernetes v1.36.3 kubelet nodeStatusUpdateRetry. */
const maxTries = 5;

export interface NodeWriterOptions {
  readonly client: KubeClient;
  readonly nodeName: string;
  /** Milliseconds between heartbeats without changes. */
  readonly reportIntervalMs: number;
  /** Whether there are very many nodes, whose heartbeats must not wait behind all requests of pods. Default: `false`. */
  readonly isOneOfMany?: boolean | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Options of {@link NodeWriter.write}. */
export interface NodeWriteOptions {
  /** Whether a cordon that our `onShutdown` policy left is undone. */
  readonly uncordon: boolean;
}

/**
 * Brings the node object to its desired state with as few requests as possible: none if there is no difference and no
 * heartbeat is due. Changes that the credentials do not allow are left out and reported once.
 */
export class NodeWriter {
  readonly #options: NodeWriterOptions;
  readonly #warned = new Set<string>();
  #owned: OwnedKeys = parseOwnedKeys(undefined);
  #restrictedLabels = false;
  #keepTaints = false;
  #nextReportMs = 0;

  constructor(options: NodeWriterOptions) {
    this.#options = options;
  }

  get #pool(): TransportPool {
    return this.#options.isOneOfMany ? "lease" : "short";
  }

  /** Milliseconds until the heartbeat is due. */
  get reportDueInMs(): number {
    return Math.max(0, this.#nextReportMs - this.#options.clock.monotonic());
  }

  /** Reads the node from the API server; `undefined` if there is none. */
  async read(signal: AbortSignal): Promise<RegisteredNode | undefined> {
    try {
      return await this.#get(signal);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Creates the node. @throws ConflictError if there is one already */
  async create(wanted: WantedNode, signal: AbortSignal): Promise<RegisteredNode> {
    const { client, clock } = this.#options;
    for (;;) {
      const restrictedLabels = this.#restrictedLabels;
      try {
        const node = planNode(wanted, { nowMs: clock.now(), restrictedLabels });
        const created = await this.#request("create", signal, (inner) =>
          client.create(resources.nodes, node, { signal: inner, pool: this.#pool }),
        );
        this.#keepTaints = false;
        this.#wrote(wanted, created, true);
        return created;
      } catch (error) {
        if (!isForbidden(error) || !this.#restrictLabels(wanted, error)) throw error;
      }
    }
  }

  /**
   * Patches the difference from the node as last seen.
   *
   * @returns the node after the patches
   * @throws NotFoundError if the node is gone
   */
  async write(wanted: WantedNode, seen: RegisteredNode, options: NodeWriteOptions, signal: AbortSignal): Promise<RegisteredNode> {
    let current = seen;
    for (let tries = 1; ; tries++) {
      try {
        return await this.#write(wanted, current, options, signal);
      } catch (error) {
        signal.throwIfAborted();
        const mayHelp = isOtherObject(error) || (isForbidden(error) && this.#restrictLabels(wanted, error));
        if (!mayHelp || tries >= maxTries) throw error;
        current = await this.#get(signal);
      }
    }
  }

  async #write(wanted: WantedNode, seen: RegisteredNode, options: NodeWriteOptions, signal: AbortSignal): Promise<RegisteredNode> {
    const { clock } = this.#options;
    const report = this.reportDueInMs === 0;
    // The missing right may have been granted meanwhile, so the write is attempted from time to time.
    if (report) this.#keepTaints = false;
    const planOptions = { nowMs: clock.now(), owned: this.#owned, report, restrictedLabels: this.#restrictedLabels, ...options };
    const patches = planNodePatches(wanted, seen, { ...planOptions, keepTaints: this.#keepTaints });
    let current = seen;
    if (patches.spec)
      current = await this.#writeSpec(
        patches.spec,
        seen,
        () => planNodePatches(wanted, seen, { ...planOptions, keepTaints: true }).spec,
        signal,
      );
    if (patches.status) {
      current = await this.#patch(patches.status, "status", signal);
      this.#wrote(wanted, current, !report);
    }
    return current;
  }

  /** Under NodeRestriction a kubelet may change all fields of its node except taints. */
  async #writeSpec(
    patch: Patch,
    seen: RegisteredNode,
    withoutTaints: () => Patch | undefined,
    signal: AbortSignal,
  ): Promise<RegisteredNode> {
    try {
      return await this.#patch(patch, undefined, signal);
    } catch (error) {
      if (!isForbidden(error)) throw error;
      if (isMissingRight(error)) return this.#leaveSpec(error, seen);
      this.#keepTaints = true;
      this.#warnOnce("taints", error, "the API server refuses the change of the node's spec; trying it without the taints");
    }
    const rest = withoutTaints();
    if (!rest) return seen;
    try {
      return await this.#patch(rest, undefined, signal);
    } catch (error) {
      if (!isForbidden(error)) throw error;
      return this.#leaveSpec(error, seen);
    }
  }

  #leaveSpec(error: unknown, seen: RegisteredNode): RegisteredNode {
    this.#warnOnce("spec", error, "the API server refuses to change the node's spec and labels; they stay as they are");
    return seen;
  }

  async #patch(patch: Patch, subresource: "status" | undefined, signal: AbortSignal): Promise<DeepReadonly<Node>> {
    const { client, metrics, nodeName } = this.#options;
    metrics.count("vk_node_patches_total", { subresource: subresource ?? "" });
    return this.#request("patch", signal, (inner) =>
      client.patch(resources.nodes, { name: nodeName }, patch, { signal: inner, subresource, pool: this.#pool }),
    );
  }

  #get(signal: AbortSignal): Promise<RegisteredNode> {
    const { client, nodeName } = this.#options;
    return this.#request("get", signal, (inner) => client.get(resources.nodes, { name: nodeName }, { signal: inner, pool: this.#pool }));
  }

  #request(verb: string, signal: AbortSignal, call: (signal: AbortSignal) => Promise<RegisteredNode>): Promise<RegisteredNode> {
    const { clock, nodeName } = this.#options;
    return withDeadline({ clock, timeoutMs: requestTimeoutMs, what: `${verb} node ${nodeName}` }, signal, call);
  }

  #wrote(wanted: WantedNode, written: RegisteredNode, hasChanged: boolean): void {
    const { clock, random, reportIntervalMs } = this.#options;
    const before = parseOwnedKeys(written.metadata?.annotations?.[ownedKeysAnnotation]);
    this.#owned = joinKeys(ownedKeys(wanted), before);
    // As with kubelets, the heartbeat after a change comes at a random time, so that nodes that changed together spread out.
    const delayMs = hasChanged ? reportIntervalMs * (0.5 + random.next()) : reportIntervalMs;
    this.#nextReportMs = clock.monotonic() + delayMs;
  }

  /** @returns whether the set of missing rights changed */
  #restrictLabels(wanted: WantedNode, error: unknown): boolean {
    const labels = Object.keys(wanted.labels).filter((key) => !isKubeletsLabel(key));
    if (this.#restrictedLabels || labels.length === 0 || isMissingRight(error)) return false;
    this.#restrictedLabels = true;
    this.#warnOnce("labels", error, "the API server refuses the node; trying it without the labels that are no kubelet's", { labels });
    return true;
  }

  #warnOnce(key: string, error: unknown, message: string, fields: Readonly<Record<string, unknown>> = {}): void {
    if (this.#warned.has(key)) return;
    this.#warned.add(key);
    this.#options.logger.warn({ ...fields, err: messageOf(error) }, message);
  }
}
