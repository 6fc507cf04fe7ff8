import { KeyedMutex } from "@virtual-kubelet/async";
import type { Clock, Random } from "@virtual-kubelet/clock";
import {
  podRef,
  type ClaimedVolume,
  type Container,
  type DeepReadonly,
  type Logger,
  type Pod,
  type PodEvent,
  type PodPolicy,
  type PodRef,
  type ResolvedPod,
  type VolumeStats,
} from "@virtual-kubelet/core";
import type { ContainerMount, DriverVolume } from "../runtime/runtime-spec.ts";
import type { PodStorage } from "../worker/pod-storage.ts";
import { ClaimedVolumes, usersOfVolume } from "./claimed/claimed-volumes.ts";
import { containerMounts, type MountFacts } from "./container-mounts.ts";
import { systemMounts, type HostMounts } from "./host-mounts.ts";
import { PodDirectory } from "./pod-directory.ts";
import { listPodFolders, removePodFolder } from "./pod-folders.ts";
import { PodVolumesOnDisk } from "./pod-volumes-on-disk.ts";
import type { PreparedVolumes } from "./prepared-volumes.ts";
import { SizeWatch, type LimitedFolder } from "./size-watch.ts";
import { createTerminationLog, readTerminationLog } from "./termination-log.ts";
import { VolumeUse } from "./volume-use.ts";
import { closeRoot, mountAnew, openRoot, type MountedFolder, type VolumesRoot } from "./volumes-root.ts";
import type { PodRuntimeReason } from "../reasons.ts";

/** A kubelet's eviction monitoring period, in milliseconds. */
const defaultSizeCheckMs = 10_000;

/** Options of a volume manager. */
export interface VolumeManagerOptions {
  /** Folder of the pods' folders: an absolute path that the runtime sees at the same place. */
  readonly root: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Paths of the node that pods may mount. */
  readonly policy: Pick<PodPolicy, "hostPaths">;
  /** Whether the runtime can make mounts recursively read-only; read for each container. Default: false. */
  readonly recursiveReadOnly?: boolean | undefined;
  /**
   * Whether the runtime sees mounts of this program: it is in the same mount namespace, or mounts are shared. Default: true. If not, or
   * without the right to mount, secrets and volumes with medium Memory are on the disk, and an event of the pod says so.
   */
  readonly isMountSeen?: boolean | undefined;
  /** Interval of the size checks of volumes with a `sizeLimit`, in milliseconds. Default: 10,000. */
  readonly sizeCheckMs?: number | undefined;
  /** Default: the mounts of this machine. */
  readonly mounts?: HostMounts | undefined;
  /**
   * Volume of one of the runtime's own drivers for a PersistentVolume; `undefined` if it has none. Default: none have one.
   *
   * @throws an Error with the reason of a refusal
   */
  readonly driverVolume?: ((claimed: ClaimedVolume) => DriverVolume | undefined) | undefined;
  /** As `ProviderHost.resolvePod`. */
  resolvePod(pod: PodRef): ResolvedPod;
  /** As `ProviderHost.recordEvent`. */
  recordEvent(pod: PodRef, event: PodEvent<PodRuntimeReason>): void;
  /** Called repeatedly while a pod has to be evicted: without grace, with reason `Evicted` and this message. */
  evict(pod: PodRef, message: string): void;
}

/**
 * Volumes and other data of the node's pods on its disk. Every call is idempotent, and the data survives the program: the next one adopts
 * it, and changes only what differs.
 *
 * Supports emptyDir, configMap, secret, downwardAPI, projected and hostPath, and claims to PersistentVolumes of type hostPath, local and
 * nfs; the runtime mounts images. Like with a kubelet, `fsGroupChangePolicy` affects only local PersistentVolumes: the other volumes are
 * new with each pod, or do not belong to it.
 */
export class VolumeManager implements PreparedVolumes, PodStorage, AsyncDisposable {
  readonly #options: VolumeManagerOptions;
  readonly #pods = new Map<string, { readonly ref: PodRef; readonly volumes: PodVolumesOnDisk }>();
  readonly #mutex = new KeyedMutex();
  readonly #sizes: SizeWatch;
  readonly #use: VolumeUse;
  #root: Promise<VolumesRoot> | undefined;
  #claims: ClaimedVolumes | undefined;

  constructor(options: VolumeManagerOptions) {
    const { clock, logger, sizeCheckMs: intervalMs = defaultSizeCheckMs } = options;
    this.#options = options;
    this.#sizes = new SizeWatch({ clock, logger, intervalMs, folders: () => this.#limitedFolders() });
    this.#use = new VolumeUse({ clock, volumes: () => [...this.#pods.values()].flatMap(({ volumes }) => [...volumes.ready.values()]) });
  }

  /**
   * Prepares the root, and mounts a new file system so that it can be checked whether the runtime sees it.
   *
   * @returns the folder with the mount, which is removed by disposing it; `undefined` if this program mounts nothing
   * @throws an Error if the root cannot be written
   */
  async mountAnew(): Promise<MountedFolder | undefined> {
    return mountAnew(await this.#openRoot());
  }

  /**
   * Creates and fills the volumes that the pod's containers use. Files from the API server are kept up to date until {@link release}.
   * Returns at once if everything is ready.
   *
   * @throws an Error that names the volume in a kubelet's words, with `waitingReason: "ContainerCreating"`, after an event FailedMount;
   * UnsupportedError for volumes of other types, and for paths of the node that are not allowed
   */
  async prepare(pod: DeepReadonly<Pod>, signal: AbortSignal): Promise<void> {
    const ref = podRef(pod);
    await this.#mutex.run(ref.uid, async () => {
      signal.throwIfAborted();
      const volumes = await this.#volumesOf(ref);
      await volumes.prepare(pod, signal);
    });
    this.#sizes.wake();
  }

  /**
   * Mounts of a container for its pod's volumes, in the order of its spec. Creates missing volumes, such as those of a container that was
   * added later.
   *
   * @throws as {@link prepare}; InvalidInputError in a kubelet's words; UnsupportedError for a subPath that cannot be mounted safely
   */
  async mounts(
    pod: DeepReadonly<Pod>,
    container: DeepReadonly<Container>,
    facts: MountFacts,
    signal: AbortSignal,
  ): Promise<readonly ContainerMount[]> {
    await this.prepare(pod, signal);
    const { recursiveReadOnly = false, logger } = this.#options;
    const { mounts } = await this.#openRoot();
    const ref = podRef(pod);
    return this.#mutex.run(ref.uid, async () => {
      signal.throwIfAborted();
      const { ready: volumes, directory } = await this.#volumesOf(ref);
      return containerMounts({ pod, container, facts, volumes, directory, mounts, recursiveReadOnly, logger });
    });
  }

  /** UIDs of the pods whose folders record a use of the PersistentVolume. @throws an Error if the folders cannot be read */
  async usersOf(persistentVolume: string): Promise<readonly string[]> {
    return usersOfVolume((await this.#openRoot()).path, persistentVolume);
  }

  /** The pod's folder, with `volumes`, `volume-subpaths` and `containers`. Others may add files. */
  podFolder(pod: DeepReadonly<Pod>): string {
    return new PodDirectory(this.#options.root, podRef(pod).uid).path;
  }

  /** Creates an empty file of mode 0666 for the termination message of one start of a container. @returns its path */
  async createTerminationLog(pod: PodRef, container: string, attempt: number): Promise<string> {
    const path = new PodDirectory(this.#options.root, pod.uid).terminationLog(container, attempt);
    await createTerminationLog(path);
    return path;
  }

  /** Last 4,096 bytes of the termination message; empty if there is none. */
  async terminationMessage(pod: PodRef, container: string, attempt: number, signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    return readTerminationLog(new PodDirectory(this.#options.root, pod.uid).terminationLog(container, attempt));
  }

  /** Usage of each of the pod's volumes, measured at most once a minute. Volumes that were not measured yet are left out. */
  async stats(pod: PodRef, signal: AbortSignal): Promise<readonly VolumeStats[]> {
    const volumes = this.#pods.get(pod.uid)?.volumes.ready;
    return volumes ? this.#use.of(volumes, signal) : [];
  }

  /**
   * Stops updates, and unmounts and removes all data of the pod. Idempotent. Its containers must have ended.
   *
   * @throws an Error if something could not be unmounted or removed: call again
   */
  async release({ uid }: PodRef, signal: AbortSignal): Promise<void> {
    const root = await this.#openRoot();
    await this.#mutex.run(uid, async () => {
      signal.throwIfAborted();
      await this.#pods.get(uid)?.volumes[Symbol.asyncDispose]();
      this.#pods.delete(uid);
      await removePodFolder(root, uid, signal);
    });
  }

  /**
   * Removes data of unknown pods. Failures are logged, and retried by the next sweep.
   *
   * @param isKnown - called for each folder after all were listed; a pod must be known before it is prepared
   * @returns UIDs of the pods whose folders were removed
   */
  async sweep(isKnown: (uid: string) => boolean | Promise<boolean>, signal: AbortSignal): Promise<readonly string[]> {
    const removed: string[] = [];
    for (const uid of await listPodFolders(await this.#openRoot())) {
      if (this.#pods.has(uid) || (await isKnown(uid)) || this.#pods.has(uid)) continue;
      try {
        await this.release({ namespace: "", name: "", uid }, signal);
        removed.push(uid);
      } catch (error) {
        signal.throwIfAborted();
        this.#options.logger.warn({ uid, err: error }, "the folder of a pod that is gone could not be removed");
      }
    }
    return removed;
  }

  /** Stops updates. Data stays on the disk. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#sizes[Symbol.dispose]();
    await this.#use[Symbol.asyncDispose]();
    await Promise.all([...this.#pods.values()].map(({ volumes }) => volumes[Symbol.asyncDispose]()));
    const root = await this.#root?.catch(() => undefined);
    if (root)
      await closeRoot(root).catch((error: unknown) => this.#options.logger.warn({ err: error }, "the folder for secrets stays mounted"));
  }

  /** Opened once. A failure is retried by the next call. */
  #openRoot(): Promise<VolumesRoot> {
    const { root: path, mounts = systemMounts, isMountSeen = true, logger } = this.#options;
    this.#root ??= openRoot({ path, mounts, isMountSeen, logger }).catch((error: unknown) => {
      this.#root = undefined;
      throw error;
    });
    return this.#root;
  }

  async #volumesOf(ref: PodRef): Promise<PodVolumesOnDisk> {
    const held = this.#pods.get(ref.uid);
    if (held) return held.volumes;
    const { clock, random, policy, logger, resolvePod, recordEvent } = this.#options;
    const root = await this.#openRoot();
    this.#claims ??= new ClaimedVolumes(root, clock, this.#options.driverVolume);
    const volumes = new PodVolumesOnDisk({
      uid: ref.uid,
      root,
      claims: this.#claims,
      clock,
      random,
      policy,
      logger: logger.child({ pod: `${ref.namespace}/${ref.name}` }),
      resolve: () => resolvePod(ref),
      onEvent: (event) => recordEvent(ref, event),
    });
    this.#pods.set(ref.uid, { ref, volumes });
    return volumes;
  }

  #limitedFolders(): readonly LimitedFolder[] {
    return [...this.#pods.values()].flatMap(({ ref, volumes }) =>
      [...volumes.ready].flatMap(([name, { path, source, watchedLimitBytes: limitBytes }]) => {
        if (limitBytes === undefined || source.kind !== "emptyDir") return [];
        // Source: emptyDirMessageFmt of kubernetes v1.36.3 pkg/kubelet/eviction/helpers.go.
        const message = `Usage of EmptyDir volume "${name}" exceeds the limit "${source.sizeLimit}". `;
        return [{ path, limitBytes, onExceeded: () => this.#options.evict(ref, message) }];
      }),
    );
  }
}
