import { isConflict, isNotFound, messageOf } from "@virtual-kubelet/errdefs";
import type { Clock, Logger, PodRef, ResolvedPod, VolumeFile } from "@virtual-kubelet/core";
import { createHash } from "node:crypto";
import type { NomadClient } from "../api/nomad-client.ts";
import { jobIdOf, variablePaths } from "../job/job-id.ts";
import type { PodShape } from "../job/pod-shape.ts";
import { filePlace } from "../job/task-files.ts";
import { checkSize, fileItem, fileKeys } from "../job/variable-items.ts";

export interface FileRefreshOptions {
  readonly clientOf: (ref: PodRef) => NomadClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly resolvePod: (ref: PodRef) => ResolvedPod;
}

/** Delay after a failure. */
const pauseMs = 30_000;

/** Updates the files of running pods when the cluster's objects change. Nomad's clients see a changed variable within seconds. */
export class FileRefresh implements AsyncDisposable {
  readonly #options: FileRefreshOptions;
  readonly #watched = new Map<string, { readonly abort: AbortController; readonly done: Promise<unknown> }>();

  constructor(options: FileRefreshOptions) {
    this.#options = options;
  }

  /**
   * Follows a pod's files until it ends; once for each pod.
   *
   * @param written - contents of its variables by volume; `undefined` if unknown
   */
  watch(shape: PodShape, written?: ReadonlyMap<string, readonly VolumeFile[]>): void {
    const { uid } = shape.ref;
    if (shape.fileVolumes.length === 0 || this.#watched.has(uid)) return;
    let resolved: ResolvedPod;
    try {
      resolved = this.#options.resolvePod(shape.ref);
    } catch (error) {
      // After a restart the cluster's pods may not be known yet; it is tried again with the next list.
      if (isNotFound(error)) return;
      throw error;
    }
    const abort = new AbortController();
    const done = Promise.all(
      shape.fileVolumes.map(async (volume) => {
        const files = written?.get(volume.name);
        await this.#follow(shape, volume, { resolved, digest: files && digestOf(files), signal: abort.signal });
      }),
    );
    this.#watched.set(uid, { abort, done });
  }

  /** Stops following the pod's files. */
  stop(uid: string): void {
    this.#watched.get(uid)?.abort.abort(new Error("the pod has ended"));
    this.#watched.delete(uid);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const all = [...this.#watched.values()];
    for (const uid of this.#watched.keys()) this.stop(uid);
    await Promise.all(all.map(({ done }) => done));
  }

  async #follow(
    shape: PodShape,
    volume: PodShape["fileVolumes"][number],
    { resolved, digest, signal }: { readonly resolved: ResolvedPod; readonly digest: string | undefined; readonly signal: AbortSignal },
  ): Promise<void> {
    const { clock, logger } = this.#options;
    let last = digest;
    while (!signal.aborted) {
      try {
        for await (const { files } of resolved.watchVolume(volume.name, signal)) {
          const next = digestOf(files);
          if (next !== last) await this.#write(shape, volume, files, signal);
          last = next;
        }
        return;
      } catch (error) {
        if (signal.aborted || isNotFound(error)) return;
        const { namespace, name } = shape.ref;
        logger.warn({ pod: `${namespace}/${name}`, volume: volume.name, err: messageOf(error) }, "files of a pod cannot be updated");
      }
      await clock.sleep(pauseMs, signal).catch(() => {});
    }
  }

  /** Writes the variables that the pod's templates read. A file added after the pod's start has no template. */
  async #write(
    { ref, owner }: PodShape,
    { name, confidential }: PodShape["fileVolumes"][number],
    files: readonly VolumeFile[],
    signal: AbortSignal,
  ): Promise<void> {
    const { clientOf, logger } = this.#options;
    const client = clientOf(ref);
    const jobId = jobIdOf(owner, ref.uid);
    const path = confidential ? variablePaths.confidential(jobId) : variablePaths.files(jobId);
    for (;;) {
      const { Items, ModifyIndex } = await client.readVariable(path, signal);
      const next: Record<string, string> = { ...Items };
      for (const file of files) {
        const place = filePlace(name, file.path);
        const known = fileKeys(place).filter((key) => Object.hasOwn(Items, key));
        if (known.length === 0) {
          logger.warn(
            { pod: `${ref.namespace}/${ref.name}`, volume: name, file: file.path },
            "a new file of a volume appears only in new pods",
          );
          continue;
        }
        for (const key of known) delete next[key];
        const [key, value] = fileItem(place, file.content);
        next[key] = value;
      }
      if (JSON.stringify(sorted(next)) === JSON.stringify(sorted(Items))) return;
      checkSize({ Path: path, Items: next });
      try {
        return await client.writeVariable({ Path: path, Items: next }, signal, ModifyIndex);
      } catch (error) {
        if (!isConflict(error)) throw error;
      }
    }
  }
}

function sorted(items: Readonly<Record<string, string>>): readonly (readonly [string, string])[] {
  return Object.entries(items).toSorted(([a], [b]) => (a < b ? -1 : 1));
}

function digestOf(files: readonly VolumeFile[]): string {
  const hash = createHash("sha256");
  for (const { path, content } of files) hash.update(`${path}\0${content.byteLength}\0`).update(content);
  return hash.digest("hex");
}
