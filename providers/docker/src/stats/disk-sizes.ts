import type { FsStats } from "@virtual-kubelet/core";
import { fileSystemRoom, inodeUse } from "@virtual-kubelet/pod-runtime";
import { z } from "zod";
import { isAtLeast } from "../engine/api-version.ts";
import type { DockerEngine } from "../engine/docker-engine.ts";
import { SlowMeasurement } from "./slow-measurement.ts";

export interface DiskSizesOptions {
  readonly engine: DockerEngine;
  /** Labels of the containers to measure. */
  readonly labels: Readonly<Record<string, string>>;
  /** Default: the program du. */
  readonly countInodes?: typeof inodeUse | undefined;
}

const rootSchema = z.object({ DockerRootDir: z.string().default("") });
const layersSchema = z.array(z.object({ Id: z.string(), SizeRw: z.number().default(0) }));
const imagesSchema = z.object({ LayersSize: z.number().optional() });

interface Layers {
  readonly room: Room | undefined;
  readonly bytesById: ReadonlyMap<string, number>;
  /** By folder. */
  readonly inodes: ReadonlyMap<string, number>;
}

/** Capacity and free space of the file system with the engine's data. */
type Room = Omit<FsStats, "time" | "usedBytes" | "inodesUsed">;

/**
 * Disk usage of the engine's images and containers. Because the engine walks over all their files, all are measured together in the
 * background, and each figure keeps its time.
 */
export class DiskSizes implements AsyncDisposable {
  readonly #options: DiskSizesOptions;
  readonly #layers: SlowMeasurement<Layers>;
  readonly #images: SlowMeasurement<FsStats>;
  /** Folders of the requested writable layers, by container. */
  readonly #folders = new Map<string, string>();

  constructor(options: DiskSizesOptions) {
    const { clock } = options.engine;
    this.#options = options;
    this.#layers = new SlowMeasurement({ clock, measure: (signal) => this.#measureLayers(signal) });
    this.#images = new SlowMeasurement({ clock, measure: (signal) => this.#measureImages(signal) });
  }

  /**
   * A container's writable layer and its disk, as last measured; `undefined` before.
   *
   * @param folder - folder of the layer, for counting its inodes; empty: they are not counted
   */
  layer(id: string, folder: string): FsStats | undefined {
    if (folder !== "") this.#folders.set(id, folder);
    const known = this.#layers.get(({ bytesById }) => !bytesById.has(id));
    const usedBytes = known?.value.bytesById.get(id);
    if (!known || usedBytes === undefined) return undefined;
    const inodesUsed = known.value.inodes.get(folder);
    return { time: known.time, ...known.value.room, usedBytes, ...(inodesUsed !== undefined && { inodesUsed }) };
  }

  /** Layers of all images, each counted once, and their disk, as last measured; `undefined` before. */
  images(): FsStats | undefined {
    const known = this.#images.get();
    return known && { ...known.value, time: known.time };
  }

  /** Ends the measurement in progress. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#layers[Symbol.asyncDispose]();
    await this.#images[Symbol.asyncDispose]();
  }

  async #measureLayers(signal: AbortSignal): Promise<Layers> {
    const { engine, labels } = this.#options;
    const filters = JSON.stringify({ label: Object.entries(labels).map(([name, value]) => `${name}=${value}`) });
    const request = { method: "GET", path: "/containers/json", query: { size: true, filters } } as const;
    const listed = layersSchema.parse(await engine.json(request, signal));
    const bytesById = new Map(listed.map(({ Id, SizeRw }) => [Id, SizeRw]));
    return { room: await this.#room(signal), bytesById, inodes: await this.#inodes(bytesById, signal) };
  }

  async #inodes(listed: ReadonlyMap<string, number>, signal: AbortSignal): Promise<ReadonlyMap<string, number>> {
    const { engine, countInodes = inodeUse } = this.#options;
    for (const id of this.#folders.keys()) if (!listed.has(id)) this.#folders.delete(id);
    // Without du there are no inode counts.
    return countInodes([...this.#folders.values()], { clock: engine.clock, signal }).catch(() => new Map<string, number>());
  }

  async #measureImages(signal: AbortSignal): Promise<FsStats> {
    const { engine } = this.#options;
    // Older engines cannot leave out containers and volumes.
    const query = isAtLeast(await engine.apiVersion(signal), "1.42") ? { type: "image" } : undefined;
    const { LayersSize } = imagesSchema.parse(await engine.json({ method: "GET", path: "/system/df", query }, signal));
    return { time: "", ...(await this.#room(signal)), usedBytes: LayersSize };
  }

  /** `undefined` if the engine's folder cannot be read. */
  async #room(signal: AbortSignal): Promise<Room | undefined> {
    const { DockerRootDir } = rootSchema.parse(await this.#options.engine.json({ method: "GET", path: "/info" }, signal));
    return fileSystemRoom(DockerRootDir).catch(() => undefined);
  }
}
