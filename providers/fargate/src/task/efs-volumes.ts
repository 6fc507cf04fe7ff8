import type { ClaimedVolume, DeepReadonly, PodSpec, PolicyVolume } from "@virtual-kubelet/core";

type Volume = DeepReadonly<NonNullable<PodSpec["volumes"]>[number]>;

/** An Amazon EFS file system, or a part of it. */
export interface EfsSource {
  readonly fileSystemId: string;
  /** Absolute path on the file system. `undefined`: its root, or that of the access point. */
  readonly rootDirectory?: string | undefined;
  readonly accessPointId?: string | undefined;
}

const efsDriver = "efs.csi.aws.com";

/** Fields by which a pod itself names a file system. A PersistentVolume is made by an administrator, and needs no permission here. */
export const policyVolumes: readonly PolicyVolume[] = [{ fieldPath: "nfs.server", idOf: ({ nfs }) => nfs?.server }];

/** Reads an inline NFS volume; `undefined` if the server is not an EFS file system. */
export function efsOfNfs({ nfs }: Volume): EfsSource | undefined {
  return nfs && efsOfServer(nfs.server, nfs.path);
}

/** Reads the PersistentVolume of a claim; `undefined` if it is not on EFS. */
export function efsOfClaim({ source }: ClaimedVolume): EfsSource | undefined {
  if (source.kind === "nfs") return efsOfServer(source.server, source.path);
  if (source.kind !== "other" || source.driver !== efsDriver || source.handle === undefined) return undefined;
  return efsOfHandle(source.handle);
}

/**
 * Reads `fs-ID`, `fs-ID:PATH`, `fs-ID::fsap-ID` or `fs-ID:PATH:fsap-ID`.
 * Source: kubernetes-sigs/aws-efs-csi-driver pkg/driver/node.go (parseVolumeId).
 */
export function efsOfHandle(handle: string): EfsSource | undefined {
  const [fileSystemId = "", path = "", accessPointId = "", ...rest] = handle.split(":");
  const isValid = /^fs-[0-9a-f]+$/.test(fileSystemId) && /^(fsap-[0-9a-f]+)?$/.test(accessPointId) && rest.length === 0;
  return isValid ? toSource(fileSystemId, path, accessPointId) : undefined;
}

/** Reads a mount target's name. Source: Amazon EFS User Guide, "Mounting on Amazon EC2 with a DNS name". */
function efsOfServer(server: string, path: string): EfsSource | undefined {
  const [, fileSystemId] = /^(?:[a-z0-9-]+\.)?(fs-[0-9a-f]+)\.efs\.[a-z0-9-]+\.amazonaws\.com(?:\.cn)?$/.exec(server) ?? [];
  return fileSystemId === undefined ? undefined : toSource(fileSystemId, path, "");
}

function toSource(fileSystemId: string, path: string, accessPointId: string): EfsSource {
  const rootDirectory = path === "" || path === "/" ? undefined : path.replace(/^\/*/, "/");
  return { fileSystemId, rootDirectory, ...(accessPointId !== "" && { accessPointId }) };
}
