import { KeyedMutex } from "@virtual-kubelet/async";
import type { Clock } from "@virtual-kubelet/clock";
import type { ClaimedVolume, DeepReadonly, Pod, PodEvent } from "@virtual-kubelet/core";
import { UnsupportedError } from "@virtual-kubelet/errdefs";
import { mkdir, readdir, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { DriverVolume } from "../../runtime/runtime-spec.ts";
import { hasFsCode } from "../fs-code.ts";
import { makeHostPath } from "../host-path.ts";
import { MountStepError } from "../mount-error.ts";
import type { PodDirectory } from "../pod-directory.ts";
import type { ReadyVolume } from "../ready-volume.ts";
import type { VolumesRoot } from "../volumes-root.ts";
import { ensureNfsMount } from "./nfs-mount.ts";
import { giveToGroup, needsGroup } from "./volume-group.ts";
import type { PodRuntimeReason } from "../../reasons.ts";

/** As `VolumeManagerOptions.driverVolume`. */
export type DriverVolumeOf = (claimed: ClaimedVolume) => DriverVolume | undefined;

/** The pod that mounts a claimed volume. */
export interface ClaimUser {
  readonly pod: DeepReadonly<Pod>;
  readonly directory: PodDirectory;
  onEvent(event: PodEvent<PodRuntimeReason>): void;
}

type MountedSource = Exclude<ClaimedVolume["source"], { readonly kind: "other" }>;

/** A kubelet's folder names for the kinds of volumes. */
const folders: Readonly<Record<MountedSource["kind"], string>> = {
  hostPath: "kubernetes.io~host-path",
  local: "kubernetes.io~local-volume",
  nfs: "kubernetes.io~nfs",
  flexVolume: "kubernetes.io~flexvolume",
};

/** Time after which a pending change of the group is reported by an event, in milliseconds. Source: as {@link giveToGroup}. */
const slowGroupMs = 30_000;

/**
 * PersistentVolumes of all the node's pods. Their users are recorded on the disk: each pod has a folder with the volume's name among its
 * volumes. It is created last and removed with the pod.
 */
export class ClaimedVolumes {
  readonly #root: VolumesRoot;
  readonly #clock: Clock;
  readonly #driverVolume: DriverVolumeOf | undefined;
  readonly #mutex = new KeyedMutex();

  /** @param driverVolume - as `VolumeManagerOptions.driverVolume` */
  constructor(root: VolumesRoot, clock: Clock, driverVolume: DriverVolumeOf | undefined) {
    this.#root = root;
    this.#clock = clock;
    this.#driverVolume = driverVolume;
  }

  /**
   * Prepares a volume for a pod. Idempotent. Source: GenerateMountVolumeFunc of kubernetes v1.36.3
   * pkg/volume/util/operationexecutor/operation_generator.go, and SetUpAt of pkg/volume/{local,nfs,hostpath}.
   *
   * @param name - the volume's name in the pod's spec
   * @throws UnsupportedError for a type that cannot be mounted; an Error in a kubelet's words
   */
  async make(name: string, claimed: ClaimedVolume, user: ClaimUser, signal: AbortSignal): Promise<ReadyVolume> {
    const { source } = claimed;
    const driverVolume = this.#driverVolume?.(claimed);
    if (source.kind === "other" || (source.kind === "flexVolume" && !driverVolume)) throw notSupported(name, claimed);
    return this.#mutex.run(claimed.name, async () => {
      signal.throwIfAborted();
      const folder = user.directory.volume(folders[source.kind], claimed.name);
      const isNew = !(await isListed(folder));
      const others = isNew ? await this.#others(folder, user) : [];
      const [mode, ...otherModes] = claimed.accessModes;
      // With several modes it is unknown which one the pod means.
      if (mode === "ReadWriteOncePod" && otherModes.length === 0 && others.length > 0)
        throw new Error("volume uses the ReadWriteOncePod access mode and is already in use by another pod");
      const use = { user, folder, isFirst: isNew && others.length === 0, isNew };
      const ready = await this.#setUp(claimed, source, use, signal);
      await mkdir(folder, { recursive: true, mode: 0o750 });
      return ready;
    });
  }

  async #setUp(claimed: ClaimedVolume, source: MountedSource, use: Use, signal: AbortSignal): Promise<ReadyVolume> {
    const { isReadOnly, mountOptions, claim } = claimed;
    const ready = { source: { kind: "claim", of: source.kind, claim }, isMemory: false, watchedLimitBytes: undefined, isReadOnly } as const;
    if (source.kind === "nfs") {
      await ensureNfsMount({ ...source, options: mountOptions, isReadOnly, target: use.folder }, this.#root.mounts);
      return { ...ready, path: use.folder };
    }
    if (source.kind === "flexVolume") {
      if (mountOptions.length > 0)
        throw new MountStepError("MountVolume.MountOptionSupport check failed", "mount options are not supported for this volume type");
      return { ...ready, path: "", driverVolume: this.#driverVolume?.(claimed) };
    }
    // Every path is allowed, because only administrators can create PersistentVolumes.
    const nodePaths = [source.path];
    if (source.kind === "hostPath") {
      if (mountOptions.length > 0)
        throw new MountStepError("MountVolume.MountOptionSupport check failed", "mount options are not supported for this volume type");
      await makeHostPath({ path: source.path, type: source.type, policy: { hostPaths: nodePaths } });
    } else {
      if (mountOptions.length > 0) {
        throw new UnsupportedError(
          `mount PersistentVolume ${claimed.name}: mount options of local volumes are not supported, got ${mountOptions.join(", ")}; mount the folder with them on the node`,
        );
      }
      await checkLocalFolder(source.path);
      await this.#shareWithGroup(claimed, source.path, use, signal);
    }
    return { ...ready, path: source.path, nodePaths };
  }

  /** Only for the first pod that uses the volume. A kubelet does so for local volumes, and for none of the other types here. */
  async #shareWithGroup(claimed: ClaimedVolume, path: string, { user, isFirst, isNew }: Use, signal: AbortSignal): Promise<void> {
    const { fsGroup, fsGroupChangePolicy } = user.pod.spec?.securityContext ?? {};
    if (fsGroup === undefined || !isNew) return;
    if (!isFirst) {
      const { gid } = await stat(path);
      if (gid === fsGroup) return;
      const message = `The requested fsGroup is ${fsGroup}, but the volume ${claimed.name} has GID ${gid}. The volume may not be shareable.`;
      user.onEvent({ type: "Warning", reason: "AlreadyMountedVolume", message });
      return;
    }
    if (claimed.isReadOnly || (fsGroupChangePolicy === "OnRootMismatch" && !(await needsGroup(path, fsGroup)))) return;
    using _slow = this.#clock.setTimer(slowGroupMs, () => {
      const message = `Setting volume ownership for ${claimed.name} is taking longer than expected, consider using OnRootMismatch - https://kubernetes.io/docs/tasks/configure-pod-container/security-context/#configure-volume-permission-and-ownership-change-policy-for-pods`;
      user.onEvent({ type: "Warning", reason: "VolumePermissionChangeInProgress", message });
    });
    await giveToGroup(path, fsGroup, signal);
  }

  async #others(folder: string, { directory }: ClaimUser): Promise<readonly string[]> {
    const place = folder.slice(directory.path.length + 1);
    const users = await podsWith(this.#root.path, [place]);
    return users.filter((uid) => uid !== basename(directory.path));
  }
}

/**
 * UIDs of the pods that use a PersistentVolume of any type, including unknown pods whose folders still exist.
 *
 * @param root - folder of all pods' folders, with links resolved
 */
export function usersOfVolume(root: string, name: string): Promise<readonly string[]> {
  return podsWith(
    root,
    Object.values(folders).map((kind) => join("volumes", kind, name)),
  );
}

/** UIDs of the pods whose folders contain one of these places. Pods that are being removed use nothing. */
async function podsWith(root: string, places: readonly string[]): Promise<readonly string[]> {
  const pods = join(root, "pods");
  const uids = (await readdir(pods)).filter((uid) => !uid.startsWith("."));
  const uses = await Promise.all(uids.map(async (uid) => Promise.all(places.map((place) => isListed(join(pods, uid, place))))));
  return uids.filter((_, index) => uses[index]?.includes(true));
}

interface Use {
  readonly user: ClaimUser;
  /** The folder that records the use. */
  readonly folder: string;
  /** Whether the pod did not use the volume before. */
  readonly isNew: boolean;
  /** Whether in addition no other pod uses it. */
  readonly isFirst: boolean;
}

/** Source: getGlobalLocalPath of kubernetes v1.36.3 pkg/volume/local/local.go. */
async function checkLocalFolder(path: string): Promise<void> {
  const step = "MountVolume.NewMounter initialization failed";
  if (path.split("/").includes("..")) throw new Error(`invalid path: ${path} must not contain '..'`);
  const found = await stat(path).catch((error: unknown) => {
    if (hasFsCode(error, "ENOENT")) throw new MountStepError(step, `path "${path}" does not exist`);
    throw error;
  });
  if (!found.isDirectory())
    throw new MountStepError(step, `path "${path}" is not a directory: this node does not mount local block devices`);
}

function notSupported(volume: string, { name, source }: ClaimedVolume): UnsupportedError {
  const type = source.kind === "other" ? source.type : source.kind;
  const driver = "driver" in source && source.driver !== undefined ? ` with driver ${source.driver}` : "";
  return new UnsupportedError(
    `mount volume "${volume}": its PersistentVolume ${name} is of type ${type}${driver}, which is not supported, expected hostPath, local or nfs`,
    { fieldPath: "spec.volumes[*].persistentVolumeClaim" },
  );
}

/** Whether the parent folder lists the name. The path itself is not opened, because the server of a mount may not answer. */
async function isListed(path: string): Promise<boolean> {
  try {
    return (await readdir(dirname(path))).includes(basename(path));
  } catch (error) {
    if (hasFsCode(error, "ENOENT", "ENOTDIR")) return false;
    throw error;
  }
}
