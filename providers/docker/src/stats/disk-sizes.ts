import type { FsStats } from "@virtual-kubelet/core";
import { fileSystemRoom, inodeUse } from "@virtual-kubelet/pod-runtime";
import { z } from "zod";
import { isAtLeast } from "../engine/api-version.ts";
import type { DockerEngine } from "../engine/docker-engine.ts";
import { SlowMeasurement } from "./slow-measurement.ts";

/** What {@link DiskSizes} needs. */
export interface DiskSizesOptions {
  readonly engine: DockerEngine;
  /** Labels of the containers that are measured. */
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

/** What the file system of the engine's data has, and what is left of it. */
type Room = Omit<FsStats, "time" | "usedBytes" | "inodesUsed">;

/**
 * What the engine's images and containers take up on its disk. The engine walks over all their files, so that is measured aside, for
 * all containers at once, and each figure keeps the time it was measured.
 */
export class DiskSizes implements AsyncDisposable {
  readonly #options: DiskSizesOptions;
  readonly #layers: SlowMeasurement<Layers>;
  readonly #images: SlowMeasurement<FsStats>;
  /** Folders of the writable layers that were asked for, by container. */
  readonly #folders = new Map<string, string>();

  constructor(options: DiskSizesOptions) {
    const { clock } = options.engine;
    this.#options = options;
    this.#layers = new SlowMeasurement({ clock, measure: (signal) => this.#measureLayers(signal) });
    this.#images = new SlowMeasurement({ clock, measure: (signal) => this.#measureImages(signal) });
  }

  /**
   * The writable layer of a container and the disk it is on, as last measured; `undefined` until it was.
   *
   * @param folder - where the layer is, to count its inodes; empty: they are not counted
   */
  layer(id: string, folder: string): FsStats | undefined {
    if (folder !== "") this.#folders.set(id, folder);
    const known = this.#layers.get(({ bytesById }) => !bytesById.has(id));
    const usedBytes = known?.value.bytesById.get(id);
    if (!known || usedBytes === undefined) return undefined;
    const inodesUsed = known.value.inodes.get(folder);
    return { time: known.time, ...known.value.room, usedBytes, ...(inodesUsed !== undefined && { inodesUsed }) };
  }

  /** The layers of all images, each counted once, and the disk they are on, as last measured. */
  images(): FsStats | undefined {
    const known = this.#images.get();
    return known && { ...known.value, time: known.time };
  }

  /** Ends what is being measured. */
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
    // Without du there are no figures.
    return countInodes([...this.#folders.values()], { clock: engine.clock, signal }).catch(() => new Map<string, number>());
  }

  async #measureImages(signal: AbortSignal): Promise<FsStats> {
    const { engine } = this.#options;
    // Older engines cannot leave out containers and volumes.
    const query = isAtLeast(await engine.apiVersion(signal), "1.42") ? { type: "image" } : undefined;
    const { LayersSize } = imagesSchema.parse(await engine.json({ method: "GET", path: "/system/df", query }, signal));
    return { time: "", ...(await this.#room(signal)), usedBytes: LayersSize };
  }

  /** `undefined` where the engine's folder cannot be seen. */
  async #room(signal: AbortSignal): Promise<Room | undefined> {
    const { DockerRootDir } = rootSchema.parse(await this.#options.engine.json({ method: "GET", path: "/info" }, signal));
    return fileSystemRoom(DockerRootDir).catch(() => undefined);
  }
}
