import type {
  Clock,
  Container,
  DeepReadonly,
  Logger,
  Pod,
  PodEvent,
  PodRef,
  Random,
  ResolvedEnvVar,
  ResolvedPod,
  VolumeStats,
} from "@virtual-kubelet/core";
import { UnsupportedError } from "@virtual-kubelet/errdefs";
import type { PodPolicy } from "../prepare/pod-policy.ts";
import type { PreparedVolumes } from "../prepare/pod-preparation.ts";
import type { PodStorage } from "../provider/provider-options.ts";
import type { ContainerMount } from "../runtime/runtime-spec.ts";
import { PodDirectory } from "./pod-directory.ts";

/** What {@link VolumeManager} needs. */
export interface VolumeManagerOptions {
  /** Where the pods' folders are: an absolute path on a file system that the runtime sees at the same path. */
  readonly root: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Which paths of the node pods may mount. */
  readonly policy: Pick<PodPolicy, "hostPaths">;
  /** Whether the runtime can make a mount read-only with all that is mounted below it. Default `false`. */
  readonly recursiveReadOnly?: boolean | undefined;
  /** How often the size of volumes with a `sizeLimit` is looked at, in milliseconds; default 10,000. A kubelet's eviction monitoring period. */
  readonly sizeCheckMs?: number | undefined;
  /** As `ProviderHost.resolvePod`. */
  resolvePod(pod: PodRef): ResolvedPod;
  /** As `ProviderHost.recordEvent`. */
  recordEvent(pod: PodRef, event: PodEvent): void;
  /**
   * Told once, and again after each {@link VolumeManagerOptions.sizeCheckMs} as long as it stays so, that a pod has to be evicted, with the message of its status.
   * The reason is `Evicted`, the grace none.
   */
  evict(pod: PodRef, message: string): void;
}

/**
 * The volumes of a node's pods on its disk, and all else a pod has there. Everything is idempotent, and survives the
 * program: the next one takes over what it finds, and changes nothing that is as it should be.
 *
 * Volumes of type emptyDir, configMap, secret, downwardAPI, projected and hostPath.
 */
export class VolumeManager implements PreparedVolumes, PodStorage, AsyncDisposable {
  readonly #options: VolumeManagerOptions;

  constructor(options: VolumeManagerOptions) {
    this.#options = options;
  }

  /**
   * Makes the volumes that the pod's containers use, and fills them. From then on those with files from the API server
   * follow it until {@link release}. Returns at once where all is there.
   *
   * @throws an Error that names the volume in a kubelet's words, and carries `waitingReason: "ContainerCreating"`; an event
   * FailedMount was recorded. UnsupportedError for volumes of other types, and for paths of the node that are not allowed.
   */
  prepare(pod: DeepReadonly<Pod>, _signal: AbortSignal): Promise<void> {
    return Promise.reject(new UnsupportedError(`prepare the volumes of pod ${pod.metadata?.name}: not yet`));
  }

  /** As `PreparedVolumes.mounts`. Volumes have to be prepared. */
  mounts(
    pod: DeepReadonly<Pod>,
    _container: DeepReadonly<Container>,
    _environment: readonly ResolvedEnvVar[],
    _signal: AbortSignal,
  ): Promise<readonly ContainerMount[]> {
    return Promise.reject(new UnsupportedError(`mount the volumes of pod ${pod.metadata?.name}: not yet`));
  }

  /** The pod's folder; {@link PodDirectory} tells what is in it. */
  podFolder(pod: DeepReadonly<Pod>): string {
    return new PodDirectory(this.#options.root, pod.metadata?.uid ?? "").path;
  }

  /** Makes the empty file that one start of a container may write its termination message to, mode 0666. @returns its path */
  createTerminationLog(pod: PodRef, container: string, attempt: number): Promise<string> {
    return Promise.resolve(new PodDirectory(this.#options.root, pod.uid).terminationLog(container, attempt));
  }

  /** The end of what it wrote there, at most 4096 bytes; empty if nothing. */
  terminationMessage(_pod: PodRef, _container: string, _attempt: number, _signal: AbortSignal): Promise<string> {
    return Promise.resolve("");
  }

  /** As `PodStorage.stats`. */
  stats(_pod: PodRef, _signal: AbortSignal): Promise<readonly VolumeStats[]> {
    return Promise.resolve([]);
  }

  /** Stops following, unmounts and removes all that the pod has on the disk. Idempotent. Its containers must have ended. */
  release(pod: PodRef, _signal: AbortSignal): Promise<void> {
    return Promise.reject(new UnsupportedError(`release the volumes of pod ${pod.name}: not yet`));
  }

  /**
   * Removes what pods have left that nobody knows any more.
   *
   * @param isKnown - asked after the folders were listed, for each of them
   * @returns UIDs of the pods whose folders were removed
   */
  sweep(_isKnown: (uid: string) => boolean, _signal: AbortSignal): Promise<readonly string[]> {
    return Promise.resolve([]);
  }

  /** Stops following. What is on the disk stays. */
  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}
