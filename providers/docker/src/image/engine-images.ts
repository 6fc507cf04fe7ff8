import { type NodeImage, type RegistryCredentials } from "@virtual-kubelet/core";
import { statfs } from "node:fs/promises";
import { DeadlineExceededError, isForbidden, isNotFound } from "@virtual-kubelet/errdefs";
import type { CollectedImage, ImageCollection, ImageFileSystem, RuntimeImage } from "@virtual-kubelet/pod-runtime";
import { jsonLines } from "../engine/json-lines.ts";
import type { DockerEngine } from "../engine/docker-engine.ts";
import { listContainers, listImages } from "../engine/engine-queries.ts";
import { volumeImagesOf } from "../image-volume/volume-images.ts";
import { contentId, parseImageReference, type ImageReference } from "./image-reference.ts";
import { PullFailure, toPullError } from "./pull-error.ts";
import { PullQueue } from "./pull-queue.ts";

export interface EngineImagesOptions {
  readonly engine: DockerEngine;
  /** Maximum number of pulls at once. */
  readonly parallelPulls: number;
  /** Maximum time without progress of a pull, in milliseconds. */
  readonly progressTimeoutMs: number;
  /** An image that always counts as used. */
  readonly sandboxImage: string;
}

/** The engine's images. */
export class EngineImages implements ImageCollection {
  readonly #options: EngineImagesOptions;
  readonly #pulls: PullQueue<RuntimeImage>;

  constructor(options: EngineImagesOptions) {
    this.#options = options;
    this.#pulls = new PullQueue(options.parallelPulls);
  }

  /** As `ContainerRuntime.inspectImage`. */
  async inspectImage(image: string, signal: AbortSignal): Promise<RuntimeImage> {
    const { Id: id, Size: sizeBytes = 0, RepoDigests, Config } = await this.#inspect(image, signal);
    const user = Config?.User;
    return { id: contentId(image, { id, digests: RepoDigests ?? [] }), sizeBytes, ...(user ? { user } : {}) };
  }

  /** The engine's id of an image: `sha256:…`. @throws NotFoundError */
  async engineId(image: string, signal: AbortSignal): Promise<string> {
    return (await this.#inspect(image, signal)).Id;
  }

  /** As `ContainerRuntime.pullImage`. Calls for the same image and credentials share one pull, and the number of pulls is limited. */
  async pullImage(image: string, credentials: readonly RegistryCredentials[], signal: AbortSignal): Promise<RuntimeImage> {
    const reference = parseImageReference(image);
    const key = JSON.stringify([reference.pullName, credentials]);
    return this.#pulls.run(key, (inner) => this.#pullWithAny(image, { reference, credentials }, inner), signal);
  }

  /** Makes an image available, as with `imagePullPolicy: IfNotPresent`. */
  async ensureImage(image: string, credentials: readonly RegistryCredentials[], signal: AbortSignal): Promise<RuntimeImage> {
    try {
      return await this.inspectImage(image, signal);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      return this.pullImage(image, credentials, signal);
    }
  }

  /** All images by name, digests first as in a kubelet's status. */
  async nodeImages(signal: AbortSignal): Promise<readonly NodeImage[]> {
    const images = await listImages(this.#options.engine, signal);
    return images.flatMap(({ RepoTags, RepoDigests, Size }) => {
      const names = [...(RepoDigests ?? []), ...(RepoTags ?? [])].filter((name) => !name.includes("<none>"));
      return names.length > 0 ? [{ names, sizeBytes: Size }] : [];
    });
  }

  /** As `ImageCollection.listImages`. */
  async listImages(signal: AbortSignal): Promise<readonly CollectedImage[]> {
    const { engine } = this.#options;
    // Images before containers: the engine refuses to remove an image that a container has started to use in the meantime.
    const images = await listImages(engine, signal);
    const containers = await listContainers(engine, {}, signal);
    const used = new Set(containers.flatMap(({ ImageID, Labels }) => [ImageID, ...volumeImagesOf(Labels ?? {})]));
    const sandbox = await this.inspectImage(this.#options.sandboxImage, signal).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
    return images.map(({ Id, RepoTags, RepoDigests, Size }) => {
      const names = [...(RepoTags ?? []), ...(RepoDigests ?? [])].filter((name) => !name.includes("<none>"));
      const isSandbox = sandbox !== undefined && (Id === sandbox.id || names.includes(sandbox.id));
      return { id: Id, names, sizeBytes: Size, isInUse: used.has(Id) || isSandbox };
    });
  }

  /** As `ImageCollection.removeImage`. Without force, which would remove images of containers that do not run. */
  async removeImage(id: string, signal: AbortSignal): Promise<void> {
    const images = await listImages(this.#options.engine, signal);
    const found = images.find((image) => image.Id === id);
    if (!found) return;
    const known = [...(found.RepoTags ?? []), ...(found.RepoDigests ?? [])].filter((name) => !name.includes("<none>"));
    // The engine does not remove an image by id while it has names in several repositories, but removes it with its last name.
    const names = known.length > 1 ? known : [id];
    for (const name of names) await this.#remove(name, signal);
  }

  /** As `ImageCollection.imageFileSystem`, for the engine's folder on this machine. */
  async imageFileSystem(signal: AbortSignal): Promise<ImageFileSystem> {
    const info = (await this.#options.engine.json({ method: "GET", path: "/info" }, signal)) as { readonly DockerRootDir?: string };
    const { blocks, bavail, bsize } = await statfs(info.DockerRootDir ?? "/");
    return { capacityBytes: blocks * bsize, availableBytes: bavail * bsize };
  }

  async #inspect(image: string, signal: AbortSignal): Promise<InspectedImage> {
    const name = /^sha256:[0-9a-f]{64}$/.test(image) ? image : parseImageReference(image).pullName;
    const what = `inspect image "${image}"`;
    const path = `/images/${encodeURIComponent(name)}/json`;
    return (await this.#options.engine.json({ method: "GET", path, what }, signal)) as InspectedImage;
  }

  async #remove(name: string, signal: AbortSignal): Promise<void> {
    try {
      const path = `/images/${encodeURIComponent(name)}`;
      await this.#options.engine.json({ method: "DELETE", path, what: `remove image "${name}"` }, signal);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  /** Tries each of the credentials, then none. Throws the first refusal, which is the most informative. */
  async #pullWithAny(image: string, pull: PullOptions, signal: AbortSignal): Promise<RuntimeImage> {
    let refusal: unknown;
    for (const credentials of [...pull.credentials, undefined]) {
      try {
        await this.#pull(image, { ...pull, credential: credentials }, signal);
        return await this.inspectImage(image, signal);
      } catch (error) {
        const reason = signal.aborted ? signal.reason : toPullError(image, error);
        if (signal.aborted || !(isForbidden(reason) || isNotFound(reason))) throw reason;
        refusal ??= reason;
      }
    }
    throw refusal;
  }

  async #pull(
    image: string,
    { reference, credential }: PullOptions & { readonly credential: RegistryCredentials | undefined },
    signal: AbortSignal,
  ): Promise<void> {
    const { engine, progressTimeoutMs } = this.#options;
    const silence = new AbortController();
    const both = AbortSignal.any([signal, silence.signal]);
    const headers = credential && { "x-registry-auth": registryAuthHeader(credential, reference.registry) };
    const request = { method: "POST", path: "/images/create", query: { fromImage: reference.pullName }, headers } as const;
    const stop = (): void =>
      silence.abort(new DeadlineExceededError(`pull image "${image}": no progress for ${progressTimeoutMs / 1000} s`));
    let timer = engine.clock.setTimer(progressTimeoutMs, stop);
    try {
      const body = await engine.stream({ ...request, what: `pull image "${image}"` }, both);
      for await (const line of jsonLines(body)) {
        timer[Symbol.dispose]();
        timer = engine.clock.setTimer(progressTimeoutMs, stop);
        const { error, errorDetail } = line as PullProgress;
        const failure = errorDetail?.message ?? error;
        if (failure !== undefined) throw new PullFailure(failure);
      }
    } catch (error) {
      throw both.aborted ? both.reason : error;
    } finally {
      timer[Symbol.dispose]();
    }
  }
}

/** The header `X-Registry-Auth` for a registry: base64url with padding, because engines silently ignore credentials without it. */
function registryAuthHeader(credentials: RegistryCredentials, registry: string): string {
  const text = JSON.stringify(authFields(credentials, registry));
  return Buffer.from(text).toString("base64").replaceAll("+", "-").replaceAll("/", "_");
}

function authFields(credentials: RegistryCredentials, serveraddress: string): Record<string, string> {
  if ("username" in credentials) return { username: credentials.username, password: credentials.password, serveraddress };
  if ("identityToken" in credentials) return { identitytoken: credentials.identityToken, serveraddress };
  return { registrytoken: credentials.registryToken, serveraddress };
}

interface PullOptions {
  readonly reference: ImageReference;
  readonly credentials: readonly RegistryCredentials[];
}

interface PullProgress {
  readonly error?: string;
  readonly errorDetail?: { readonly message?: string };
}

interface InspectedImage {
  readonly Id: string;
  readonly Size?: number;
  readonly RepoDigests?: readonly string[] | null;
  readonly Config?: { readonly User?: string } | null;
}
