import type { Clock, ContainerStats, Logger, NetworkStats, NodeStats, PodStats, StatsSummary, VolumeStats } from "@virtual-kubelet/core";
import { isNotFound } from "@virtual-kubelet/errdefs";
import { rfc3339, SharedCalls } from "@virtual-kubelet/kube-client";
import type { HeldPod } from "./held-pods.ts";
import { Turnstile } from "./turnstile.ts";
import { UsageRates } from "./usage-rates.ts";
import { instanceOf } from "../pod/container-life.ts";
import type { ContainerRuntime } from "../runtime/container-runtime.ts";
import type { PodStorage } from "../worker/pod-storage.ts";

/** What {@link StatsReader} needs. */
export interface StatsReaderOptions {
  readonly runtime: Pick<ContainerRuntime, "stats" | "network">;
  readonly storage?: Pick<PodStorage, "stats"> | undefined;
  readonly nodeStats?: ((signal: AbortSignal) => Promise<NodeStats>) | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long a summary is kept. */
  readonly keepMs: number;
  /** Containers measured at once. */
  readonly concurrency: number;
  pods(): readonly HeldPod[];
}

/** Measures what runs; who asks again soon gets the same figures. What cannot be measured is left out. */
export class StatsReader {
  readonly #options: StatsReaderOptions;
  readonly #calls = new SharedCalls<StatsSummary>();
  readonly #rates = new UsageRates();
  #kept: { readonly atMs: number; readonly summary: StatsSummary } | undefined;

  constructor(options: StatsReaderOptions) {
    this.#options = options;
  }

  /** @throws `signal.reason` when aborted */
  async summary(signal: AbortSignal): Promise<StatsSummary> {
    const { clock, keepMs } = this.#options;
    signal.throwIfAborted();
    if (this.#kept && clock.monotonic() - this.#kept.atMs < keepMs) return this.#kept.summary;
    return this.#calls.run("summary", (inner) => this.#measure(inner), signal);
  }

  async #measure(signal: AbortSignal): Promise<StatsSummary> {
    const { clock, nodeStats, concurrency, pods: podsOf } = this.#options;
    const limit = new Turnstile(concurrency);
    const node = nodeStats && this.#try("the node", signal, () => nodeStats(signal));
    const [pods, nodeFigures] = await Promise.all([Promise.all(podsOf().map((pod) => this.#pod(pod, limit, signal))), node]);
    const atMs = clock.monotonic();
    const measured = pods.filter((pod) => pod !== undefined);
    const summary = {
      node: nodeFigures && { ...nodeFigures, cpu: this.#rates.complete("node", nodeFigures.cpu, atMs) },
      pods: measured.map(({ stats }) => stats),
    };
    this.#rates.keep(new Set(["node", ...measured.flatMap(({ ids }) => ids)]));
    this.#kept = { atMs, summary };
    return summary;
  }

  async #pod(
    { ref, worker, createdAtMs }: HeldPod,
    limit: Turnstile,
    signal: AbortSignal,
  ): Promise<{ readonly stats: PodStats; readonly ids: readonly string[] } | undefined> {
    const { runtime, storage } = this.#options;
    const { stage, containers: records } = worker.state;
    if (stage.kind !== "up") return undefined;
    const running = [...records].flatMap(([name, { life }]) => {
      const id = instanceOf(life)?.id;
      return id === undefined ? [] : [{ name, id }];
    });
    const what = `pod ${ref.namespace}/${ref.name}`;
    const network =
      runtime.network && limit.pass(() => this.#try(what, signal, async () => runtime.network?.(stage.sandboxId, signal)), signal);
    const volumes = storage && this.#try(what, signal, () => storage.stats(ref, signal));
    const measuring = Promise.all(running.map(({ name, id }) => limit.pass(() => this.#container(name, id, signal), signal)));
    const [containers, traffic, used] = await Promise.all([measuring, network, volumes]);
    const stats = {
      podRef: ref,
      startTime: rfc3339(createdAtMs),
      containers: containers.filter((container) => container !== undefined),
      ...withTraffic(traffic),
      ...withVolumes(used),
    };
    return { stats, ids: running.map(({ id }) => id) };
  }

  async #container(name: string, id: string, signal: AbortSignal): Promise<ContainerStats | undefined> {
    const { runtime, clock } = this.#options;
    const stats = await this.#try(`container ${name}`, signal, () => runtime.stats(id, signal));
    return stats && { ...stats, name, cpu: this.#rates.complete(id, stats.cpu, clock.monotonic()) };
  }

  /** What ends while it is measured is no news. */
  async #try<T>(what: string, signal: AbortSignal, measure: () => Promise<T>): Promise<T | undefined> {
    try {
      return await measure();
    } catch (error) {
      signal.throwIfAborted();
      if (!isNotFound(error)) this.#options.logger.debug({ err: error, what }, "something could not be measured");
      return undefined;
    }
  }
}

function withTraffic(network: NetworkStats | undefined): Pick<PodStats, "network"> {
  return network ? { network } : {};
}

function withVolumes(volume: readonly VolumeStats[] | undefined): Pick<PodStats, "volume"> {
  return volume?.length ? { volume } : {};
}
