import { readFile } from "node:fs/promises";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { ContainerMount, ImageMount } from "@virtual-kubelet/pod-runtime";
import { isAtLeast } from "../engine/api-version.ts";
import type { DockerEngine } from "../engine/docker-engine.ts";
import { listContainers } from "../engine/engine-queries.ts";
import type { EngineImages } from "../image/engine-images.ts";
import { dockerLabels } from "../engine/object-names.ts";
import { ImageExports, type ImageExportsOptions } from "./export-image.ts";
import { ImageFolders } from "./image-folders.ts";
import { imageSubPath } from "./image-sub-path.ts";
import { volumeImagesOf } from "./volume-images.ts";

/** First API version whose engines mount images: Docker Engine 28. */
const mountingApiVersion = "1.48";

export interface ImageVolumesOptions extends ImageExportsOptions {
  readonly images: Pick<EngineImages, "engineId">;
  /** Folder for the files of images. */
  readonly folder: string;
  /** Id that changes with each start of the machine. Default: the kernel's. */
  readonly bootId?: (() => Promise<string>) | undefined;
}

/** Images mounted in containers. Engines that cannot mount them get folders with their files. */
export class ImageVolumes implements AsyncDisposable {
  readonly #engine: DockerEngine;
  readonly #images: ImageVolumesOptions["images"];
  readonly #exports: ImageExports;
  readonly #folders: ImageFolders;

  constructor(options: ImageVolumesOptions) {
    const { engine, images, folder: path, bootId = kernelBootId } = options;
    this.#engine = engine;
    this.#images = images;
    this.#exports = new ImageExports(options);
    const fill: ImageExports["fill"] = (imageId, folder, signal) => this.#exports.fill(imageId, folder, signal);
    this.#folders = new ImageFolders({ path, bootId, fill, logger: engine.logger });
  }

  /**
   * Creates a container with image mounts in the engine's form: by image id, or as folders, which are held until the container exists and
   * then used for as long as it does.
   *
   * @param make - receives the mounts, and the ids of their images for the label that marks them as used
   * @throws an Error in containerd's words, with the cause's code; errors of `make`
   */
  async withMounts<T>(
    mounts: readonly ContainerMount[],
    make: (mounts: readonly ContainerMount[], imageIds: readonly string[]) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    if (mounts.every(({ image }) => !image)) return make(mounts, []);
    const held: Disposable[] = [];
    const canMount = isAtLeast(await this.#engine.apiVersion(signal), mountingApiVersion);
    const imageIds = new Set<string>();
    const place = async (mount: ContainerMount, { id, subPath }: ImageMount): Promise<ContainerMount> => {
      const engineId = await this.#images.engineId(id, signal);
      imageIds.add(engineId);
      if (canMount) return { ...mount, image: { id: engineId, subPath } };
      const folder = await this.#folders.hold(engineId, signal);
      held.push(folder);
      return { ...mount, image: undefined, hostPath: await imageSubPath(folder.path, subPath) };
    };
    try {
      const placed: ContainerMount[] = [];
      for (const mount of mounts) placed.push(mount.image ? await place(mount, mount.image).catch(failed(signal)) : mount);
      return await make(placed, [...imageIds]);
    } finally {
      for (const folder of held) folder[Symbol.dispose]();
    }
  }

  /** Removes files of images that no container of the engine mounts, and leftovers of killed programs. */
  async collect(signal: AbortSignal): Promise<void> {
    await this.#exports.removeLeft((imageId) => this.#folders.making.has(imageId), signal);
    await this.#folders.sweep(async () => {
      const filters = { label: [dockerLabels.volumeImages] };
      const containers = await listContainers(this.#engine, filters, signal);
      return new Set(containers.flatMap(({ Labels }) => volumeImagesOf(Labels)));
    });
  }

  /** Aborts creations in progress. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#folders[Symbol.asyncDispose]();
  }
}

/** Source: ErrImageVolumeMountFailed of cri-api v0.36.3 pkg/errors, in containerd's words. */
function failed(signal: AbortSignal): (error: unknown) => never {
  return (error) => {
    signal.throwIfAborted();
    const { code } = Object(error) as { readonly code?: unknown };
    throw Object.assign(new Error(`ImageVolumeMountFailed: ${messageOf(error)}`, { cause: error }), code === undefined ? {} : { code });
  };
}

function kernelBootId(): Promise<string> {
  return readFile("/proc/sys/kernel/random/boot_id", "utf8");
}
