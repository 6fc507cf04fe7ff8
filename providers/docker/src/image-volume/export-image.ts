import { labelNames } from "@virtual-kubelet/pod-runtime";
import type { ContainerCreateOptions } from "dockerode";
import type { DockerEngine } from "../engine/docker-engine.ts";
import { inspectContainer, listContainers } from "../engine/engine-queries.ts";
import type { EngineObjects } from "../engine/engine-objects.ts";
import { EngineTraces } from "./engine-traces.ts";
import { extractArchive } from "./extract-archive.ts";

/** Labels of containers that are created only to read their files: owner and image. */
const exportLabels = { owner: "virtual-kubelet.io/image-export", image: "virtual-kubelet.io/image-export-of" } as const;

export interface ImageExportsOptions {
  readonly engine: DockerEngine;
  readonly objects: EngineObjects;
  /** Labels of all the node's objects. */
  readonly ownerLabels: Readonly<Record<string, string>>;
}

/**
 * Reads images' files from an engine that cannot mount images: from a container that is created, never started, and removed at once. Labels
 * identify containers that a killed program has left.
 */
export class ImageExports {
  readonly #options: ImageExportsOptions;
  readonly #owner: string;

  constructor(options: ImageExportsOptions) {
    this.#options = options;
    this.#owner = Object.values(options.ownerLabels).join("/");
  }

  /** Writes an image's files into a folder. @param imageId - the engine's id: `sha256:…` */
  async fill(imageId: string, folder: string, signal: AbortSignal): Promise<void> {
    const { engine, objects } = this.#options;
    const what = `read the files of image ${imageId}`;
    signal.throwIfAborted();
    // The creation is not aborted, because the id is needed for the removal.
    const id = await this.#throughout((whole) => objects.create(undefined, exportBody(imageId, this.#owner), what, whole));
    try {
      signal.throwIfAborted();
      const { Created } = await inspectContainer(engine, id, signal);
      const traces = new EngineTraces(Created);
      const archive = await engine.stream({ method: "GET", path: `/containers/${id}/export`, what }, signal);
      await extractArchive(archive, folder, { isLeftOut: (entry) => traces.isTrace(entry) }, signal);
      await traces.removeFolders(folder);
    } finally {
      await this.#remove(id);
    }
  }

  /** Removes leftover containers. @param isAtWork - whether an image is being read now */
  async removeLeft(isAtWork: (imageId: string) => boolean, signal: AbortSignal): Promise<void> {
    const { engine, objects } = this.#options;
    const filters = { label: [`${exportLabels.owner}=${this.#owner}`] };
    const left = await listContainers(engine, filters, signal);
    for (const { Id, Labels } of left) if (!isAtWork(Labels[exportLabels.image] ?? "")) await objects.remove(Id, signal);
  }

  /** If it fails, a later sweep finds the container by its labels. */
  async #remove(id: string): Promise<void> {
    const { engine, objects } = this.#options;
    try {
      await this.#throughout((whole) => objects.remove(id, whole));
    } catch (error) {
      engine.logger.warn(
        { container: id, err: error },
        "a container that was created to read an image could not be removed; a later sweep removes it",
      );
    }
  }

  /** Completes a call despite an abort, within a deadline. */
  async #throughout<T>(ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const limit = new AbortController();
    const giveUp = (): void => limit.abort(new Error(`no answer within ${wholeTimeoutMs / 1000} s`));
    using _timer = this.#options.engine.clock.setTimer(wholeTimeoutMs, giveUp);
    return await ask(limit.signal);
  }
}

/** Deadline for the creation and the removal of such a container, in milliseconds. */
const wholeTimeoutMs = 30_000;

/** A container inherits its image's labels. Empty values keep it from looking like a pod's. */
const noPod: Readonly<Record<string, string>> = Object.fromEntries(Object.values(labelNames).map((name) => [name, ""]));

function exportBody(imageId: string, owner: string): ContainerCreateOptions {
  return {
    Image: imageId,
    // A container needs a command, although this one never runs.
    Entrypoint: ["/"],
    Cmd: [],
    Labels: { ...noPod, [exportLabels.owner]: owner, [exportLabels.image]: imageId },
    HostConfig: { NetworkMode: "none" },
  };
}
