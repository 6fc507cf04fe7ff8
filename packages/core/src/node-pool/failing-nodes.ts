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

/** Time for which a node has to be ready until its earlier failures no longer count, in milliseconds. */
const calmMs = 120_000;

/** Of a node's consecutive failures the first three and every tenth are logged. */
const [logFirst, logEvery] = [3, 10];

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

interface Failure extends NodeFailure {
  /** Monotonic time of the next try. */
  readonly dueMs: number;
  /** Monotonic time at which the node was ready again. */
  readonly readyMs: number | undefined;
}

/** The nodes whose last run failed, from the failure until they are ready or another instance runs them. */
export class FailingNodes implements Disposable {
  readonly #options: FailingNodesOptions;
  /** By node; a node that is ready again stays for a while, so that it does not begin anew with the shortest wait. */
  readonly #failures = new Map<string, Failure>();
  /** Series of the number of nodes; `undefined` before the first failure, and where there are no scrapes. */
  #series: Disposable | undefined;

  constructor(options: FailingNodesOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#failing.length;
  }

  /** Names of the nodes. */
  get names(): string[] {
    return this.#failing.map(({ node }) => node);
  }

  list(): NodeFailure[] {
    return this.#failing.map(({ node, problem, attempt }) => ({ node, problem, attempt }));
  }

  /**
   * Notes, logs and counts a failure.
   *
   * @param hasHeirs - whether other instances can take the node
   * @returns delay of the next try in milliseconds
   */
  note(node: string, error: unknown, hasHeirs: boolean): number {
    const { clock, random, logger, metrics, durationMs } = this.#options;
    const nowMs = clock.monotonic();
    const known = this.#failures.get(node);
    const attempt = known && !isCalm(known, nowMs) ? known.attempt + 1 : 1;
    const maxMs = hasHeirs ? Math.max(retryBounds.maxMs, yieldsFor * durationMs) : retryBounds.maxMs;
    const delayMs = backoffMs({ ...retryBounds, maxMs }, attempt, random);
    const problem = messageOf(error);
    this.#failures.set(node, { node, problem, attempt, dueMs: nowMs + delayMs, readyMs: undefined });
    metrics.count("vk_node_failures_total");
    this.#tell();
    if (attempt <= logFirst || attempt % logEvery === 0)
      logger.error(
        { node, err: problem, attempt, delayMs: Math.round(delayMs) },
        "the node failed; trying it again, while the others go on",
      );
    return delayMs;
  }

  /** Notes that a node is ready; its failures count until it has been for a while. */
  noteReady(node: string): void {
    const known = this.#failures.get(node);
    if (!known) return;
    const nowMs = this.#options.clock.monotonic();
    if (isCalm(known, nowMs)) this.#failures.delete(node);
    if (known.readyMs !== undefined) return;
    this.#failures.set(node, { ...known, readyMs: nowMs });
    this.#tell();
  }

  /** Whether the node may be started; `true` for one that did not fail. */
  isDue(node: string): boolean {
    const { dueMs } = this.#failures.get(node) ?? {};
    return dueMs === undefined || dueMs <= this.#options.clock.monotonic();
  }

  /** Forgets the failures of a node that this instance is not to run, or that another one runs. */
  forget(node: string): void {
    if (this.#failures.delete(node)) this.#tell();
  }

  /** Ends the series of the number of nodes. */
  [Symbol.dispose](): void {
    this.#series?.[Symbol.dispose]();
  }

  get #failing(): Failure[] {
    return [...this.#failures.values()].filter(({ readyMs }) => readyMs === undefined);
  }

  #tell(): void {
    const { metrics } = this.#options;
    // A program can have several lists of nodes; samples are added up.
    this.#series ??= metrics.sampled?.("vk_nodes_failing", () => this.size);
    if (!this.#series) metrics.gauge("vk_nodes_failing", this.size);
  }
}

function isCalm({ readyMs }: Failure, nowMs: number): boolean {
  return readyMs !== undefined && nowMs - readyMs >= calmMs;
}
