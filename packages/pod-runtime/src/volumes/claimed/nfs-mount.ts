import { UnsupportedError } from "@virtual-kubelet/errdefs";
import { mkdir, rmdir } from "node:fs/promises";
import { isIPv6 } from "node:net";
import type { HostMounts } from "../host-mounts.ts";
import { mountedAt } from "../mount-table.ts";

/** What is mounted, and where; see {@link ensureNfsMount}. */
export interface NfsMount {
  readonly server: string;
  /** What the server exports. */
  readonly path: string;
  readonly options: readonly string[];
  readonly isReadOnly: boolean;
  /** A folder that is made. */
  readonly target: string;
}

/**
 * Mounts what an NFS server exports, unless it is mounted.
 * Source: SetUpAt of kubernetes v1.36.3 pkg/volume/nfs/nfs.go.
 *
 * @param mounts - absent where nothing can be mounted
 * @throws UnsupportedError without mounts; an Error with what mount(8) says
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
    // The folder would say that the pod uses the volume.
    await rmdir(target).catch(() => {});
    throw error;
  }
}
