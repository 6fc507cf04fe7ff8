import type { FileHandle } from "node:fs/promises";
import { readMountTable, type MountPoint } from "./mount-table.ts";
import { runTool } from "./run-tool.ts";

/** The mounts of a machine. It takes root with CAP_SYS_ADMIN to change them. */
export interface HostMounts {
  /** All that is mounted, in order. */
  list(): Promise<readonly MountPoint[]>;
  /** Mounts a file system in memory. @param options - as of mount(8), such as `size=1048576` */
  mountTmpfs(target: string, options: readonly string[]): Promise<void>;
  /** Mounts what an NFS server exports. @param source - such as `nfs.example.com:/exports` @param options - as of nfs(5) */
  mountNfs(source: string, target: string, options: readonly string[]): Promise<void>;
  /**
   * Mounts what a handle has open at a target of its kind, so that nobody can put another thing in its place on the way.
   *
   * @param options - `isWhole`: with all that is mounted below; what is mounted later below the source comes, too, never the
   * other way round
   */
  bind(source: FileHandle, target: string, options?: { readonly isWhole?: boolean }): Promise<void>;
  /** Takes away what was mounted last at a path; at once out of sight where it is still in use. */
  unmount(target: string): Promise<void>;
}

/** The mounts of this machine, changed by the programs mount and umount of util-linux. */
export const systemMounts: HostMounts = {
  list: readMountTable,

  mountTmpfs: (target, options) =>
    mount(`mount a file system in memory at ${target}`, ["-t", "tmpfs", "-o", options.join(","), "tmpfs", target]),

  mountNfs: (source, target, options) =>
    mount(`mount ${source} at ${target}`, ["-t", "nfs", ...(options.length > 0 ? ["-o", options.join(",")] : []), "--", source, target]),

  bind: (source, target, { isWhole = false } = {}) => {
    const how = isWhole ? ["--rbind", "--make-rslave"] : ["--bind"];
    // The descriptor is the thing itself: its path must not be looked up again.
    return mount(`mount an open file at ${target}`, ["--no-canonicalize", ...how, "/proc/self/fd/3", target], source.fd);
  },

  async unmount(target) {
    const { exitCode } = await runTool("umount", { args: [target] });
    if (exitCode === 0) return;
    const detached = await runTool("umount", { args: ["-l", target] });
    if (detached.exitCode !== 0) throw new Error(`unmount ${target}: ${detached.stderr.trim()}`);
  },
};

async function mount(what: string, args: readonly string[], fd?: number): Promise<void> {
  const { exitCode, stderr } = await runTool("mount", { args, fd });
  if (exitCode !== 0) throw new Error(`${what}: ${stderr.trim() || `mount ended with ${exitCode}`}`);
}
