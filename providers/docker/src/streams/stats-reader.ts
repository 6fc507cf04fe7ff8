import type { ContainerStats, FsStats, NetworkStats } from "@virtual-kubelet/core";
import { NotFoundError } from "@virtual-kubelet/errdefs";
import { labelNames } from "@virtual-kubelet/pod-runtime";
import { stat } from "node:fs/promises";
import { z } from "zod";
import type { DockerEngine } from "../engine/docker-engine.ts";
import { networkStatsOf, tryParseStats, type EngineStats } from "./engine-stats.ts";
import { inspectForStreams, type InspectedContainer } from "./inspected-container.ts";
import { LayerSizes } from "./layer-sizes.ts";

const infoSchema = z.object({ MemTotal: z.number().default(0) });

/**
 * Measures containers, at once and one by one: the engine's own rates over two measurements take it two seconds. Who
 * measures again makes the rate.
 */
export class StatsReader implements AsyncDisposable {
  readonly #engine: DockerEngine;
  readonly #layers: LayerSizes;

  /** The engine's whole memory, which is no limit of a container; undefined until it is known. */
  #memoryBytes: number | undefined;

  constructor(engine: DockerEngine) {
    this.#engine = engine;
    this.#layers = new LayerSizes(engine);
  }

  /** What a container uses now. @throws NotFoundError if it does not run; UnavailableError */
  async container(id: string, signal: AbortSignal): Promise<ContainerStats> {
    const [inspected, stats] = await Promise.all([inspectForStreams(this.#engine, id, signal), this.#measure(id, signal)]);
    if (!inspected.isRunning || stats === undefined) throw new NotFoundError(`measure container ${id}: it does not run`);
    return {
      name: inspected.labels[labelNames.container] ?? id,
      startTime: inspected.startedAt,
      cpu: { time: stats.time, usageCoreNanoSeconds: stats.cpuNanoSeconds },
      memory: { time: stats.time, ...stats.memory },
      rootfs: this.#layers.get(id, stats.time),
      logs: await logStats(inspected, stats.time),
    };
  }

  /** The traffic of a pod, by its sandbox. @throws NotFoundError if it does not run, or has no network of its own; UnavailableError */
  async network(sandboxId: string, signal: AbortSignal): Promise<NetworkStats> {
    const stats = await this.#measure(sandboxId, signal);
    const network = stats && networkStatsOf(stats);
    if (network === undefined) throw new NotFoundError(`measure sandbox ${sandboxId}: it does not run, or is on the host's network`);
    return network;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#layers[Symbol.asyncDispose]();
  }

  async #measure(id: string, signal: AbortSignal): Promise<EngineStats | undefined> {
    const query = { stream: false, "one-shot": true };
    const answer = await this.#engine.json({ method: "GET", path: `/containers/${encodeURIComponent(id)}/stats`, query }, signal);
    this.#memoryBytes ??= infoSchema.parse(await this.#engine.json({ method: "GET", path: "/info" }, signal)).MemTotal;
    return tryParseStats(answer, { hostMemoryBytes: this.#memoryBytes });
  }
}

/** Size of the file that holds the output, where it can be seen. */
async function logStats({ logPath }: InspectedContainer, time: string): Promise<FsStats | undefined> {
  if (logPath === "") return undefined;
  try {
    return { time, usedBytes: (await stat(logPath)).size };
  } catch {
    return undefined;
  }
}
