import { Semaphore, untilAborted } from "@virtual-kubelet/async";
import type { Clock } from "@virtual-kubelet/clock";
import type { Logger, NodeStats, StatsSummary } from "@virtual-kubelet/core";
import { isNotFound, messageOf } from "@virtual-kubelet/errdefs";
import { instanceOf } from "../pod/container-life.ts";
import type { ContainerRuntime } from "../runtime/container-runtime.ts";
import type { PodStorage } from "../worker/pod-storage.ts";
import type { RegisteredPod } from "./pod-registry.ts";
import type { PodCgroupMeter } from "./provider-options.ts";
import { StatsDraft } from "./stats-draft.ts";
import { UsageRates } from "./usage-rates.ts";

/** Maximum time that a caller waits for a measurement, in milliseconds. metrics-server waits for ten seconds. */
const waitMs = 5_000;

export interface StatsReaderOptions {
  readonly runtime: Pick<ContainerRuntime, "stats" | "network">;
  readonly storage?: Pick<PodStorage, "stats"> | undefined;
  readonly cgroups?: Partial<PodCgroupMeter> | undefined;
  readonly nodeStats?: ((signal: AbortSignal) => Promise<NodeStats>) | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Maximum age of a summary, in milliseconds. */
  readonly keepMs: number;
  /** Maximum number of containers that are measured at once. */
  readonly concurrency: number;
  /** Ends a measurement, unlike the signals of its callers. */
  readonly signal: AbortSignal;
  pods(): readonly RegisteredPod[];
}

/**
 * Measures what runs, and keeps the figures for a while. Whatever cannot be measured is left out, and the summary says that it is
 * incomplete.
 *
 * A measurement continues after its callers have left, so the next caller finds it done. After five seconds a caller gets the measurements
 * so far, and the previous ones for the rest.
 */
export class StatsReader {
  readonly #options: StatsReaderOptions;
  readonly #rates = new UsageRates();
  #measuring: { readonly draft: StatsDraft; readonly done: Promise<StatsSummary> } | undefined;
  #kept: { readonly atMs: number; readonly summary: StatsSummary } | undefined;

  constructor(options: StatsReaderOptions) {
    this.#options = options;
  }

  /** @throws `signal.reason` when aborted */
  async summary(signal: AbortSignal): Promise<StatsSummary> {
    const { clock, keepMs } = this.#options;
    signal.throwIfAborted();
    if (this.#kept && clock.monotonic() - this.#kept.atMs < keepMs) return this.#kept.summary;
    const { done, draft } = (this.#measuring ??= this.#begin());
    const late = Promise.withResolvers<StatsSummary>();
    using _timer = clock.setTimer(waitMs, () => late.resolve(draft.unfinished(this.#kept?.summary)));
    return await untilAborted(Promise.race([done, late.promise]), signal);
  }

  /**
   * Begins a measurement and waits until it is complete. One in progress is not enough: it lacks the pods that came after it began.
   *
   * @throws `signal.reason` when aborted
   */
  async measured(signal: AbortSignal): Promise<StatsSummary> {
    signal.throwIfAborted();
    await untilAborted(Promise.allSettled([this.#measuring?.done]), signal);
    return untilAborted((this.#measuring ??= this.#begin()).done, signal);
  }

  #begin(): { readonly draft: StatsDraft; readonly done: Promise<StatsSummary> } {
    const draft = new StatsDraft(this.#options.pods());
    const done = this.#measure(draft).finally(() => (this.#measuring = undefined));
    // No caller may be left to handle the rejection.
    done.catch(() => {});
    return { draft, done };
  }

  async #measure(draft: StatsDraft): Promise<StatsSummary> {
    const { clock, nodeStats, concurrency, signal } = this.#options;
    const limit = new Semaphore(concurrency);
    const node = nodeStats && this.#try(draft, "the node", () => nodeStats(signal));
    const measuring = draft.pods.map((pod) => this.#pod(draft, pod, limit));
    const figures = await node;
    const atMs = clock.monotonic();
    const others = figures?.systemContainers?.map((container) => ({
      ...container,
      cpu: this.#rates.complete(`node/${container.name}`, container.cpu, atMs),
    }));
    if (figures)
      draft.node = { ...figures, cpu: this.#rates.complete("node", figures.cpu, atMs), ...(others && { systemContainers: others }) };
    const ids = await Promise.all(measuring);
    const summary = draft.finished();
    this.#rates.keep(new Set(["node", ...(others ?? []).map(({ name }) => `node/${name}`), ...ids.flat()]));
    this.#kept = { atMs: clock.monotonic(), summary };
    return summary;
  }

  /** @returns keys of everything with a rate: the pod and its containers */
  async #pod(draft: StatsDraft, { ref, worker }: RegisteredPod, limit: Semaphore): Promise<readonly string[]> {
    const { runtime, storage, cgroups, clock, signal } = this.#options;
    const { stage, containers: records, desired } = worker.state;
    if (stage.kind !== "up") return [];
    const running = [...records].flatMap(([name, { life }]) => {
      const id = instanceOf(life)?.id;
      return id === undefined ? [] : [{ name, id }];
    });
    const stats = draft.begin(
      ref.uid,
      running.map(({ name }) => name),
    );
    const what = `pod ${ref.namespace}/${ref.name}`;
    const network = async (): Promise<void> => {
      stats.network = await this.#try(draft, what, async () => runtime.network?.(stage.sandboxId, signal));
    };
    const volumes = async (): Promise<void> => {
      stats.volume = storage && (await this.#try(draft, what, () => storage.stats(ref, signal)));
    };
    const whole = async (): Promise<void> => {
      const usage = await this.#try(draft, what, async () => cgroups?.usage?.(desired.pod, signal));
      stats.usage = usage && { ...usage, cpu: this.#rates.complete(ref.uid, usage.cpu, clock.monotonic()) };
    };
    await Promise.all([
      ...running.map(({ name, id }) =>
        limit.run(async () => {
          const container = await this.#try(draft, `container ${name} of ${what}`, () => runtime.stats(id, signal));
          const cpu = this.#rates.complete(id, container?.cpu, clock.monotonic());
          if (container) stats.containers.set(name, { ...container, name, cpu });
        }, signal),
      ),
      runtime.network && limit.run(network, signal),
      volumes(),
      whole(),
    ]);
    return [ref.uid, ...running.map(({ id }) => id)];
  }

  /** An object that ends while it is measured is no failure. */
  async #try<T>(draft: StatsDraft, what: string, measure: () => Promise<T>): Promise<T | undefined> {
    const { signal, logger } = this.#options;
    try {
      return await measure();
    } catch (error) {
      signal.throwIfAborted();
      if (isNotFound(error)) return undefined;
      draft.failures.push(`${what}: ${messageOf(error)}`);
      logger.debug({ err: error, what }, "something could not be measured");
      return undefined;
    }
  }
}
