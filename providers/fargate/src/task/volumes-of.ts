import type { DeepReadonly, Pod, PodSpec, ResolvedPod } from "@virtual-kubelet/core";
import { UnsupportedError } from "@virtual-kubelet/errdefs";
import type { Volume as EcsVolume } from "@aws-sdk/client-ecs";
import { efsOfClaim, efsOfNfs, type EfsSource } from "./efs-volumes.ts";
import { isFilesVolume, isTokenVolume } from "./pod-files.ts";

type Volume = DeepReadonly<NonNullable<PodSpec["volumes"]>[number]>;

/** Implementation of a pod's volume. */
export type PodVolume =
  /** A folder of the task's own disk. */
  | { readonly kind: "emptyDir" }
  /** The same, with files that the files container writes. */
  | { readonly kind: "files" }
  | { readonly kind: "efs"; readonly source: EfsSource; readonly isReadOnly: boolean }
  /** Nothing, because the volume is the service account's token and tokens are not provided. */
  | { readonly kind: "none" };

/**
 * Returns the implementation of each volume.
 *
 * @throws UnsupportedError with the field; what `resolved` throws
 */
export async function volumesOf(
  pod: DeepReadonly<Pod>,
  resolved: ResolvedPod,
  { serviceAccountToken }: { readonly serviceAccountToken: boolean },
  signal: AbortSignal,
): Promise<ReadonlyMap<string, PodVolume>> {
  const volumes = new Map<string, PodVolume>();
  for (const [index, volume] of (pod.spec?.volumes ?? []).entries())
    volumes.set(
      volume.name,
      isTokenVolume(volume) && !serviceAccountToken ? { kind: "none" } : await volumeOf(volume, `spec.volumes[${index}]`, resolved, signal),
    );
  return volumes;
}

/** Returns the volumes as ECS takes them, those only that containers mount. */
export function ecsVolumesOf(volumes: ReadonlyMap<string, PodVolume>, mounted: ReadonlySet<string>): EcsVolume[] {
  return [...volumes].flatMap(([name, volume]): EcsVolume[] => {
    if (!mounted.has(name) || volume.kind === "none") return [];
    return [volume.kind === "efs" ? { name, efsVolumeConfiguration: efsConfigurationOf(volume.source) } : { name, host: {} }];
  });
}

async function volumeOf(volume: Volume, path: string, resolved: ResolvedPod, signal: AbortSignal): Promise<PodVolume> {
  if (isFilesVolume(volume)) return { kind: "files" };
  if (volume.emptyDir) return emptyDirOf(volume.emptyDir, path);
  if (volume.nfs) {
    const source = efsOfNfs(volume);
    if (source) return { kind: "efs", source, isReadOnly: volume.nfs.readOnly ?? false };
    throw new UnsupportedError(
      `${path}.nfs: a Fargate task mounts only Amazon EFS, whose servers are called fs-ID.efs.REGION.amazonaws.com`,
      {
        fieldPath: `${path}.nfs`,
      },
    );
  }
  if (volume.persistentVolumeClaim) return claimOf(volume, `${path}.persistentVolumeClaim`, resolved, signal);
  const [type] = Object.keys(volume).filter((key) => key !== "name");
  if (type === undefined) return { kind: "emptyDir" };
  throw new UnsupportedError(`${path}.${type}: a Fargate task has no volumes of this type`, { fieldPath: `${path}.${type}` });
}

function emptyDirOf({ medium }: NonNullable<Volume["emptyDir"]>, path: string): PodVolume {
  if (medium)
    throw new UnsupportedError(`${path}.emptyDir.medium: Fargate has no volumes in memory, and no huge pages`, {
      fieldPath: `${path}.emptyDir.medium`,
    });
  return { kind: "emptyDir" };
}

async function claimOf(
  { name, persistentVolumeClaim: claim }: Volume,
  fieldPath: string,
  resolved: ResolvedPod,
  signal: AbortSignal,
): Promise<PodVolume> {
  // A plan has no cluster in which the claim could be read.
  if (!resolved.claimedVolume)
    return { kind: "efs", source: { fileSystemId: `{file system of claim ${claim?.claimName}}` }, isReadOnly: claim?.readOnly ?? false };
  const claimed = await resolved.claimedVolume(name, signal);
  const source = efsOfClaim(claimed);
  if (source) return { kind: "efs", source, isReadOnly: claimed.isReadOnly };
  throw new UnsupportedError(
    `${fieldPath}: PersistentVolume ${claimed.name} is not on Amazon EFS (CSI driver efs.csi.aws.com, or NFS); a Fargate task mounts no other`,
    { fieldPath },
  );
}

/** ECS demands encryption in transit and the root directory / with an access point. Source: ECS API reference, EFSVolumeConfiguration. */
function efsConfigurationOf({ fileSystemId, rootDirectory, accessPointId }: EfsSource): EcsVolume["efsVolumeConfiguration"] {
  return {
    fileSystemId,
    ...(rootDirectory !== undefined && accessPointId === undefined && { rootDirectory }),
    transitEncryption: "ENABLED",
    ...(accessPointId !== undefined && { authorizationConfig: { accessPointId } }),
  };
}
