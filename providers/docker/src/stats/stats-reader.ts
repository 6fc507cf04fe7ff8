import type { ContainerStats, FsStats, NetworkStats } from "@virtual-kubelet/core";
import { isNotFound, NotFoundError } from "@virtual-kubelet/errdefs";
import { labelNames, type CgroupMeter } from "@virtual-kubelet/pod-runtime";
import { z } from "zod";
import type { DockerEngine } from "../engine/docker-engine.ts";
import { DiskSizes } from "./disk-sizes.ts";
import { networkStatsOf, tryParseStats, type EngineStats } from "./engine-stats.ts";
import { inspectContainer, tryInspected, type InspectedContainer } from "../container/inspected-container.ts";
import { logStats } from "./log-stats.ts";

const infoSchema = z.object({ MemTotal: z.number().default(0) });

/** Maximum number of containers whose process is remembered. */
const maxKnown = 5000;

export interface StatsReaderOptions {
  readonly engine: DockerEngine;
  readonly meter: Pick<CgroupMeter, "ofProcess" | "networkOf">;
  /** Labels of the containers whose disk is measured. Default: all containers. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

/**
 * Measures containers from their control groups, with at most one inspection per container for its process. If control groups cannot be
 * read, the engine is asked for figures each time. The caller computes rates from repeated measurements.
 */
export class StatsReader implements AsyncDisposable {
  readonly #engine: DockerEngine;
  readonly #meter: StatsReaderOptions["meter"];
  readonly #disk: DiskSizes;
  /** Containers that ran when they were inspected. They never run again with another process. */
  readonly #known = new Map<string, InspectedContainer>();

  /** The engine's total memory, which is no limit of a container; `undefined` before it is known. */
  #memoryBytes: number | undefined;

  constructor({ engine, meter, labels = {} }: StatsReaderOptions) {
    this.#engine = engine;
    this.#meter = meter;
    this.#disk = new DiskSizes({ engine, labels });
  }

  /** Current usage of a container. @throws NotFoundError if it does not run; UnavailableError */
  async container(id: string, signal: AbortSignal): Promise<ContainerStats> {
    const inspected = await this.#inspect(id, signal);
    const counted = (await this.#meter.ofProcess(inspected)) ?? (await this.#askUsage(id, signal));
    const time = counted.memory?.time ?? "";
    return {
      name: inspected.labels[labelNames.container] ?? id,
      startTime: inspected.startedAt,
      ...counted,
      rootfs: this.#disk.layer(inspected.id, inspected.layerFolder),
      logs: await logStats(inspected.logPath, time),
    };
  }

  /** Traffic of a pod, by its sandbox. @throws NotFoundError if it does not run, or has no network of its own; UnavailableError */
  async network(sandboxId: string, signal: AbortSignal): Promise<NetworkStats> {
    const inspected = await this.#inspect(sandboxId, signal);
    const isOnHost = inspected.networkMode === "host";
    const counted = isOnHost ? undefined : await this.#meter.networkOf(inspected);
    const network = counted ?? (isOnHost ? undefined : networkStatsOf(await this.#ask(sandboxId, signal)));
    if (network === undefined) throw new NotFoundError(`measure sandbox ${sandboxId}: it is on the host's network`);
    return network;
  }

  /** Size of the images and of their disk, as last measured; `undefined` before. */
  images(): FsStats | undefined {
    return this.#disk.images();
  }

  /** Remembers an inspection, so that the first measurement needs none. */
  noteInspected(answer: unknown): void {
    const inspected = tryInspected(answer);
    if (inspected?.isRunning) this.#remember(inspected);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#disk[Symbol.asyncDispose]();
  }

  /** @throws NotFoundError if it does not run */
  async #inspect(id: string, signal: AbortSignal): Promise<InspectedContainer> {
    const known = this.#known.get(id);
    if (known) return known;
    const inspected = await inspectContainer(this.#engine, id, signal);
    if (!inspected.isRunning) throw new NotFoundError(`measure container ${id}: it does not run`);
    this.#remember(inspected);
    return inspected;
  }

  #remember(inspected: InspectedContainer): void {
    this.#known.set(inspected.id, inspected);
    const [oldest] = this.#known.keys();
    if (this.#known.size > maxKnown && oldest !== undefined) this.#known.delete(oldest);
  }

  async #askUsage(id: string, signal: AbortSignal): Promise<Pick<ContainerStats, "cpu" | "memory">> {
    const { time, cpuNanoSeconds, memory } = await this.#ask(id, signal);
    return { cpu: { time, usageCoreNanoSeconds: cpuNanoSeconds }, memory: { time, ...memory } };
  }

  /** Requests figures of the engine. @throws NotFoundError if the container does not run */
  async #ask(id: string, signal: AbortSignal): Promise<EngineStats> {
    const query = { stream: false, "one-shot": true };
    try {
      const answer = await this.#engine.json({ method: "GET", path: `/containers/${encodeURIComponent(id)}/stats`, query }, signal);
      this.#memoryBytes ??= infoSchema.parse(await this.#engine.json({ method: "GET", path: "/info" }, signal)).MemTotal;
      const stats = tryParseStats(answer, { hostMemoryBytes: this.#memoryBytes });
      if (stats) return stats;
    } catch (error) {
      if (isNotFound(error)) this.#known.delete(id);
      throw error;
    }
    this.#known.delete(id);
    throw new NotFoundError(`measure container ${id}: it does not run`);
  }
}
