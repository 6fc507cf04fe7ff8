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

/** A kubelet's eviction monitoring period, in milliseconds. */
const defaultSizeCheckMs = 10_000;

/** What {@link VolumeManager} needs. */
export interface VolumeManagerOptions {
  /** Where the pods' folders are: an absolute path, on a file system that the runtime sees at the same path. */
  readonly root: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Which paths of the node pods may mount. */
  readonly policy: Pick<PodPolicy, "hostPaths">;
  /** Whether the runtime can make a mount read-only with all that is mounted below it; asked for each container. Default `false`. */
  readonly recursiveReadOnly?: boolean | undefined;
  /**
   * Whether the runtime sees what this program mounts, which it does in the same mount namespace, or where mounts are shared.
   * Default `true`. Without, as without the right to mount, secrets and volumes with medium Memory are on the disk, and an event of
   * the pod says so.
   */
  readonly isMountSeen?: boolean | undefined;
  /** How often the size of volumes with a `sizeLimit` is looked at, in milliseconds; default 10,000. */
  readonly sizeCheckMs?: number | undefined;
  /** Default: those of this machine. */
  readonly mounts?: HostMounts | undefined;
  /**
   * The volume of one of the runtime's own drivers behind a PersistentVolume; `undefined` where it is none. Default: none is.
   *
   * @throws an Error that says why it may not be had
   */
  readonly driverVolume?: ((claimed: ClaimedVolume) => DriverVolume | undefined) | undefined;
  /** As `ProviderHost.resolvePod`. */
  resolvePod(pod: PodRef): ResolvedPod;
  /** As `ProviderHost.recordEvent`. */
  recordEvent(pod: PodRef, event: PodEvent): void;
  /** Told, again and again as long as it is so, that a pod has to be evicted: without grace, with reason `Evicted` and this message. */
  evict(pod: PodRef, message: string): void;
}

/**
 * The volumes of a node's pods on its disk, and all else a pod has there. Everything is idempotent, and survives the
 * program: the next one takes over what it finds, and changes nothing that is as it should be.
 *
 * Volumes of type emptyDir, configMap, secret, downwardAPI, projected and hostPath, and claims to PersistentVolumes of type
 * hostPath, local and nfs; those of type image are the runtime's. `fsGroupChangePolicy` has a say in local PersistentVolumes alone, as with a
 * kubelet: the others are new with each pod, or not the pod's own.
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
   * Makes what all pods share on the disk, which is else done by itself, and mounts something for the runtime to look at.
   *
   * @returns the folder with the mount, which goes when it is disposed; `undefined` where this program mounts nothing
   * @throws an Error for a root that cannot be written
   */
  async mountAnew(): Promise<MountedFolder | undefined> {
    return mountAnew(await this.#openRoot());
  }

  /**
   * Makes the volumes that the pod's containers use, and fills them. From then on those with files from the API server
   * follow it until {@link release}. Returns at once where all is there.
   *
   * @throws an Error that names the volume in a kubelet's words, and carries `waitingReason: "ContainerCreating"`; an event
   * FailedMount was recorded. UnsupportedError for volumes of other types, and for paths of the node that are not allowed.
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
   * What a container mounts of its pod's volumes, in the order of its spec. Volumes that are not there yet, as of a container
   * that came later, are made.
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

  /** UIDs of the pods whose folders say that they use the PersistentVolume of that name. @throws an Error if they cannot be looked at */
  async usersOf(persistentVolume: string): Promise<readonly string[]> {
    return usersOfVolume((await this.#openRoot()).path, persistentVolume);
  }

  /** The pod's folder: below it are `volumes`, `volume-subpaths` and `containers`, and room for files of others. */
  podFolder(pod: DeepReadonly<Pod>): string {
    return new PodDirectory(this.#options.root, podRef(pod).uid).path;
  }

  /** Makes the empty file that one start of a container may write its termination message to, mode 0666. @returns its path */
  async createTerminationLog(pod: PodRef, container: string, attempt: number): Promise<string> {
    const path = new PodDirectory(this.#options.root, pod.uid).terminationLog(container, attempt);
    await createTerminationLog(path);
    return path;
  }

  /** The end of what it wrote there, at most 4096 bytes; empty if nothing. */
  async terminationMessage(pod: PodRef, container: string, attempt: number, signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    return readTerminationLog(new PodDirectory(this.#options.root, pod.uid).terminationLog(container, attempt));
  }

  /** What each of the pod's volumes uses, measured at most once a minute. Those of a pod that is newer are left out. */
  async stats(pod: PodRef, signal: AbortSignal): Promise<readonly VolumeStats[]> {
    const volumes = this.#pods.get(pod.uid)?.volumes.ready;
    return volumes ? this.#use.of(volumes, signal) : [];
  }

  /**
   * Stops following, unmounts and removes all that the pod has on the disk. Idempotent. Its containers must have ended.
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
   * Removes what pods have left that nobody knows any more. What cannot be removed is logged, and tried again the next time.
   *
   * @param isKnown - asked after the folders were listed, for each of them; a pod must be known before it is prepared
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

  /** Stops following. What is on the disk stays. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#sizes[Symbol.dispose]();
    await this.#use[Symbol.asyncDispose]();
    await Promise.all([...this.#pods.values()].map(({ volumes }) => volumes[Symbol.asyncDispose]()));
    const root = await this.#root?.catch(() => undefined);
    if (root)
      await closeRoot(root).catch((error: unknown) => this.#options.logger.warn({ err: error }, "the folder for secrets stays mounted"));
  }

  /** Opened once; a failure is tried again. */
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
