import type { Clock, Random } from "@virtual-kubelet/clock";
import { messageOf } from "@virtual-kubelet/errdefs";
import { backoffMs, type Logger, type Metrics } from "@virtual-kubelet/kube-client";

/** Back-off of a node whose run failed. */
const retryBounds = { initialMs: 2_000, maxMs: 120_000 };

/**
 * Maximum back-off where other instances can take the node, in durations of its Lease. A try may renew the Lease before it fails, and half of
 * this, the shortest wait, is long enough for the next instance to see that nobody runs the node.
 */
const yieldsFor = 8;

/** A node that does not run because its last run failed. */
export interface NodeFailure {
  readonly node: string;
  /** Message of the error. */
  readonly problem: string;
  /** Number of consecutive failures. */
  readonly attempt: number;
}

export interface FailingNodesOptions {
  /** Duration of the nodes' Leases in milliseconds. */
  readonly durationMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** The nodes whose last run failed, from the failure until they are ready or another instance runs them. */
export class FailingNodes {
  readonly #options: FailingNodesOptions;
  readonly #failures = new Map<string, NodeFailure & { readonly dueMs: number }>();

  constructor(options: FailingNodesOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#failures.size;
  }

  /** Names of the nodes. */
  get names(): IterableIterator<string> {
    return this.#failures.keys();
  }

  list(): NodeFailure[] {
    return [...this.#failures.values()].map(({ node, problem, attempt }) => ({ node, problem, attempt }));
  }

  /**
   * Notes, logs and counts a failure.
   *
   * @param hasHeirs - whether other instances can take the node
   */
  note(node: string, error: unknown, hasHeirs: boolean): void {
    const { clock, random, logger, metrics, durationMs } = this.#options;
    const attempt = (this.#failures.get(node)?.attempt ?? 0) + 1;
    const maxMs = hasHeirs ? Math.max(retryBounds.maxMs, yieldsFor * durationMs) : retryBounds.maxMs;
    const delayMs = backoffMs({ ...retryBounds, maxMs }, attempt, random);
    const problem = messageOf(error);
    this.#failures.set(node, { node, problem, attempt, dueMs: clock.monotonic() + delayMs });
    metrics.count("vk_node_failures_total");
    metrics.gauge("vk_nodes_failing", this.#failures.size);
    logger.error({ node, err: problem, attempt, delayMs: Math.round(delayMs) }, "the node failed; trying it again, while the others go on");
  }

  /** Whether the node may be started; `true` for one that did not fail. */
  isDue(node: string): boolean {
    const { dueMs } = this.#failures.get(node) ?? {};
    return dueMs === undefined || dueMs <= this.#options.clock.monotonic();
  }

  /** Forgets the failures of a node, which runs here or elsewhere. */
  forget(node: string): void {
    if (this.#failures.delete(node)) this.#options.metrics.gauge("vk_nodes_failing", this.#failures.size);
  }
}
