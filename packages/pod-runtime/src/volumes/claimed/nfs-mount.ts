import { UnsupportedError } from "@virtual-kubelet/errdefs";
import { mkdir, rmdir } from "node:fs/promises";
import { isIPv6 } from "node:net";
import type { HostMounts } from "../host-mounts.ts";
import { mountedAt } from "../mount-table.ts";

export interface NfsMount {
  readonly server: string;
  /** Path that the server exports. */
  readonly path: string;
  readonly options: readonly string[];
  readonly isReadOnly: boolean;
  /** Folder of the mount; created if needed. */
  readonly target: string;
}

/**
 * Mounts an NFS export, unless it is mounted. Source: SetUpAt of kubernetes v1.36.3 pkg/volume/nfs/nfs.go.
 *
 * @param mounts - `undefined` where mounting is impossible
 * @throws UnsupportedError without mounts; an Error with the words of mount(8)
 */
export async function ensureNfsMount(
  { server, path, options, isReadOnly, target }: NfsMount,
  mounts: HostMounts | undefined,
): Promise<void> {
  if (!mounts) {
    throw new UnsupportedError("mount an NFS volume: the program cannot mount anything; run it as root with CAP_SYS_ADMIN", {
      fieldPath: "spec.volumes[*].persistentVolumeClaim",
    });
  }
  if (mountedAt(await mounts.list(), target)) return;
  await mkdir(target, { recursive: true, mode: 0o750 });
  const host = isIPv6(server) ? `[${server}]` : server;
  try {
    await mounts.mountNfs(`${host}:${path}`, target, [...new Set([...options, ...(isReadOnly ? ["ro"] : [])])].sort());
  } catch (error) {
    // The folder would record a use of the volume.
    await rmdir(target).catch(() => {});
    throw error;
  }
}
