import { labelNames } from "@virtual-kubelet/pod-runtime";
import type { ContainerCreateOptions } from "dockerode";
import type { DockerEngine } from "../engine/docker-engine.ts";
import type { EngineObjects } from "../engine/engine-objects.ts";
import { EngineTraces } from "./engine-traces.ts";
import { extractArchive } from "./extract-archive.ts";

/** Labels of containers that are made only to read their files: whose they are, and of which image. */
const exportLabels = { owner: "virtual-kubelet.io/image-export", image: "virtual-kubelet.io/image-export-of" } as const;

/** What {@link ImageExports} needs. */
export interface ImageExportsOptions {
  readonly engine: DockerEngine;
  readonly objects: EngineObjects;
  /** Labels of all that is this node's. */
  readonly ownerLabels: Readonly<Record<string, string>>;
}

/**
 * Takes the files of images out of an engine that cannot mount them: from a container that is made, never started, and
 * removed at once. One that a program has left when it was killed is known by its labels.
 */
export class ImageExports {
  readonly #options: ImageExportsOptions;
  readonly #owner: string;

  constructor(options: ImageExportsOptions) {
    this.#options = options;
    this.#owner = Object.values(options.ownerLabels).join("/");
  }

  /** Writes an image's files into a folder. @param imageId - the engine's own: `sha256:…` */
  async fill(imageId: string, folder: string, signal: AbortSignal): Promise<void> {
    const { engine, objects } = this.#options;
    const what = `read the files of image ${imageId}`;
    signal.throwIfAborted();
    // Whoever gives up has to know what to remove.
    const id = await this.#throughout((whole) => objects.create(undefined, exportBody(imageId, this.#owner), what, whole));
    try {
      signal.throwIfAborted();
      const { Created } = await engine.client.getContainer(id).inspect({ abortSignal: signal });
      const traces = new EngineTraces(Created);
      const archive = await engine.stream({ method: "GET", path: `/containers/${id}/export`, what }, signal);
      await extractArchive(archive, folder, { isLeftOut: (entry) => traces.isTrace(entry) }, signal);
      await traces.removeFolders(folder);
    } finally {
      await this.#remove(id);
    }
  }

  /** Removes the containers that were left behind. @param isAtWork - whether an image is being read now */
  async removeLeft(isAtWork: (imageId: string) => boolean, signal: AbortSignal): Promise<void> {
    const { engine, objects } = this.#options;
    const filters = { label: [`${exportLabels.owner}=${this.#owner}`] };
    const left = await engine.client.listContainers({ all: true, filters, abortSignal: signal });
    for (const { Id, Labels } of left) if (!isAtWork(Labels[exportLabels.image] ?? "")) await objects.remove(Id, signal);
  }

  /** One that does not go is found by its labels later. */
  async #remove(id: string): Promise<void> {
    const { engine, objects } = this.#options;
    try {
      await this.#throughout((whole) => objects.remove(id, whole));
    } catch (error) {
      engine.logger.warn({ container: id, err: error }, "a container that was made to read an image stays for now");
    }
  }

  /** Asks what has to be through also when all is being aborted; not for ever. */
  async #throughout<T>(ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const limit = new AbortController();
    const giveUp = (): void => limit.abort(new Error(`no answer within ${wholeTimeoutMs / 1000} s`));
    using _timer = this.#options.engine.clock.setTimer(wholeTimeoutMs, giveUp);
    return await ask(limit.signal);
  }
}

/** How long such a container may take to be made, and to be removed, in milliseconds. */
const wholeTimeoutMs = 30_000;

/** An image's labels are its containers', too: none may make this one a pod's. */
const noPod: Readonly<Record<string, string>> = Object.fromEntries(Object.values(labelNames).map((name) => [name, ""]));

function exportBody(imageId: string, owner: string): ContainerCreateOptions {
  return {
    Image: imageId,
    // An image may have no command; this one is never run.
    Entrypoint: ["/"],
    Cmd: [],
    Labels: { ...noPod, [exportLabels.owner]: owner, [exportLabels.image]: imageId },
    HostConfig: { NetworkMode: "none" },
  };
}
