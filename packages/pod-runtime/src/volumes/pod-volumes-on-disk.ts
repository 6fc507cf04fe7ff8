import type { Clock, Random } from "@virtual-kubelet/clock";
import type { DeepReadonly, Logger, Pod, PodEvent, PodPolicy, ResolvedPod, VolumePayload } from "@virtual-kubelet/core";
import { messageOf, UnsupportedError } from "@virtual-kubelet/errdefs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { writePayload } from "./atomic-payload.ts";
import type { ClaimedVolumes } from "./claimed/claimed-volumes.ts";
import { makeMemoryDir, makeOpenDir, memoryDirBytes, sizeLimitBytes } from "./empty-dir.ts";
import { makeHostPath } from "./host-path.ts";
import { mountError, mountEventReason, waitingReason } from "./mount-error.ts";
import { nestedMountPoints } from "./nested-mount-points.ts";
import { PodDirectory } from "./pod-directory.ts";
import type { ReadyVolume } from "./ready-volume.ts";
import { usedVolumes, volumeSource, type Volume, type VolumeSource } from "./volume-source.ts";
import type { VolumesRoot } from "./volumes-root.ts";
import type { PodRuntimeReason } from "../reasons.ts";

/** Initial and maximum delay before a failed write of files is retried, in milliseconds. */
const rewriteMs = { first: 500, most: 60_000 };

export interface PodVolumesOnDiskOptions {
  readonly uid: string;
  readonly root: VolumesRoot;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly policy: Pick<PodPolicy, "hostPaths">;
  /** Claimed volumes of all pods. */
  readonly claims: ClaimedVolumes;
  resolve(): ResolvedPod;
  onEvent(event: PodEvent<PodRuntimeReason>): void;
}

/** Volumes of one pod: created once; files from the API server are kept up to date. */
export class PodVolumesOnDisk implements AsyncDisposable {
  readonly directory: PodDirectory;
  readonly #options: PodVolumesOnDiskOptions;
  readonly #ready = new Map<string, ReadyVolume>();
  readonly #stop = new AbortController();
  readonly #following = new Set<Promise<void>>();

  constructor(options: PodVolumesOnDiskOptions) {
    this.#options = options;
    this.directory = new PodDirectory(options.root.path, options.uid);
  }

  /** By volume name. */
  get ready(): ReadonlyMap<string, ReadyVolume> {
    return this.#ready;
  }

  /** Creates volumes that are missing. @throws the first failure, after all others have been tried */
  async prepare(pod: DeepReadonly<Pod>, signal: AbortSignal): Promise<void> {
    await this.#makeFolder();
    const missing = usedVolumes(pod).filter(({ name }) => !this.#ready.has(name));
    if (missing.length === 0) return;
    const resolved = this.#options.resolve();
    const outcomes = await Promise.allSettled(missing.map((volume) => this.#make(volume, { pod, resolved }, signal)));
    signal.throwIfAborted();
    const failure = outcomes.find((outcome) => outcome.status === "rejected");
    if (failure) throw failure.reason;
  }

  /** Source: SyncPod of kubernetes v1.36.3 pkg/kubelet/kubelet.go. */
  async #makeFolder(): Promise<void> {
    try {
      await this.directory.create();
    } catch (error) {
      const message = `error making pod data directories: ${messageOf(error)}`;
      this.#options.onEvent({ type: "Warning", reason: "Failed", message });
      throw Object.assign(new Error(message, { cause: error }), { waitingReason });
    }
  }

  async #make(
    volume: Volume,
    { pod, resolved }: { readonly pod: DeepReadonly<Pod>; readonly resolved: ResolvedPod },
    signal: AbortSignal,
  ): Promise<void> {
    const source = volumeSource(volume);
    if (source.kind === "claim") return this.#makeClaimed(volume.name, { pod, resolved }, signal);
    // Core records the event if a payload cannot be read.
    const payload = source.kind === "payload" ? await resolved.volume(volume.name, signal) : undefined;
    try {
      if (source.kind === "emptyDir") this.#ready.set(volume.name, await this.#makeEmptyDir(volume.name, source, pod));
      else if (source.kind === "hostPath") this.#ready.set(volume.name, await this.#makeHostPath(source));
      else if (payload) {
        const path = await this.#makePayload(volume.name, { source, pod, payload });
        // Like with a kubelet, containers cannot write to files from the API server.
        this.#ready.set(volume.name, { source, path, isMemory: false, watchedLimitBytes: undefined, isReadOnly: true });
        this.#follow(volume.name, { resolved, path, fsGroup: fsGroupOf(pod) });
      }
    } catch (error) {
      throw this.#failed(volume.name, error);
    }
  }

  async #makeEmptyDir(name: string, source: VolumeSource & { kind: "emptyDir" }, pod: DeepReadonly<Pod>): Promise<ReadyVolume> {
    const { medium, sizeLimit } = source;
    const { mounts } = this.#options.root;
    const path = this.directory.volume("kubernetes.io~empty-dir", name);
    if (medium !== "" && medium !== "Memory") {
      throw new UnsupportedError(`make volume "${name}": medium ${medium} is not supported, expected none or Memory`, {
        fieldPath: "spec.volumes[*].emptyDir.medium",
      });
    }
    const isMemory = medium === "Memory" && mounts !== undefined;
    if (medium === "Memory" && !isMemory) {
      const message = `volume "${name}" has medium Memory and is on the node's disk: the node cannot mount anything`;
      this.#options.onEvent({ type: "Warning", reason: "VolumeOnDisk", message });
    }
    if (isMemory) await makeMemoryDir({ path, sizeBytes: memoryDirBytes(sizeLimit, pod), fsGroup: fsGroupOf(pod) }, mounts);
    else await makeOpenDir(path, fsGroupOf(pod));
    return { source, path, isMemory, watchedLimitBytes: isMemory ? undefined : sizeLimitBytes(sizeLimit) };
  }

  async #makeHostPath(source: VolumeSource & { kind: "hostPath" }): Promise<ReadyVolume> {
    await makeHostPath({ path: source.path, type: source.type, policy: this.#options.policy });
    const nodePaths = this.#options.policy.hostPaths ?? [];
    return { source, path: source.path, isMemory: false, watchedLimitBytes: undefined, nodePaths };
  }

  /** Core records the event if a claim cannot be resolved. */
  async #makeClaimed(
    name: string,
    { pod, resolved }: { readonly pod: DeepReadonly<Pod>; readonly resolved: ResolvedPod },
    signal: AbortSignal,
  ): Promise<void> {
    const claimed = await resolved.claimedVolume?.(name, signal);
    if (!claimed) throw new UnsupportedError(`mount volume "${name}": there is no cluster from which to read its claim`);
    const { claims, onEvent } = this.#options;
    try {
      this.#ready.set(name, await claims.make(name, claimed, { pod, directory: this.directory, onEvent }, signal));
    } catch (error) {
      signal.throwIfAborted();
      throw this.#failed(claimed.name, error);
    }
  }

  async #makePayload(
    name: string,
    {
      source,
      pod,
      payload,
    }: { readonly source: VolumeSource & { kind: "payload" }; readonly pod: DeepReadonly<Pod>; readonly payload: VolumePayload },
  ): Promise<string> {
    const path = source.isSecret ? this.directory.secretVolume(source.folder, name) : this.directory.volume(source.folder, name);
    const fsGroup = fsGroupOf(pod);
    await makeOpenDir(path, fsGroup);
    for (const nested of nestedMountPoints(name, pod)) await mkdir(join(path, nested), { recursive: true, mode: 0o755 });
    await writePayload({ ...this.#options, path, fsGroup }, payload);
    return path;
  }

  #follow(
    name: string,
    { resolved, path, fsGroup }: { readonly resolved: ResolvedPod; readonly path: string; readonly fsGroup: number | undefined },
  ): void {
    const { signal } = this.#stop;
    const write = async (): Promise<void> => {
      for await (const payload of resolved.watchVolume(name, signal)) await this.#writeUntilDone(name, { path, fsGroup, payload });
    };
    const task = write().catch((error: unknown) => {
      if (!signal.aborted) this.#options.logger.error({ volume: name, err: error }, "a volume is no longer kept up to date");
    });
    this.#following.add(task);
    void task.then(() => this.#following.delete(task));
  }

  /** Writes a change. Retries for ever, because a full disk may have space again. */
  async #writeUntilDone(
    name: string,
    { path, fsGroup, payload }: { readonly path: string; readonly fsGroup: number | undefined; readonly payload: VolumePayload },
  ): Promise<void> {
    const { clock, logger } = this.#options;
    for (let delayMs = rewriteMs.first; ; delayMs = Math.min(2 * delayMs, rewriteMs.most)) {
      try {
        const isChanged = await writePayload({ ...this.#options, path, fsGroup }, payload);
        if (isChanged) logger.debug({ volume: name }, "the files of a volume have changed");
        return;
      } catch (error) {
        const failure = this.#failed(name, error);
        logger.warn({ volume: name, delayMs, err: failure }, "the files of a volume could not be changed");
      }
      await clock.sleep(delayMs, this.#stop.signal);
    }
  }

  /** Records an event about a failure. @returns the error to throw */
  #failed(name: string, cause: unknown): unknown {
    const error = mountError(name, cause);
    if (error !== cause) this.#options.onEvent({ type: "Warning", reason: mountEventReason, message: messageOf(error) });
    return error;
  }

  /** Stops updates and waits for writes in progress. Files stay on the disk. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("the pod's volumes are not followed any more"));
    await Promise.all(this.#following);
  }
}

function fsGroupOf({ spec }: DeepReadonly<Pod>): number | undefined {
  return spec?.securityContext?.fsGroup;
}
