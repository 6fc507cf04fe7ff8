import { lstat, mkdir, rmdir, unlink, writeFile, type FileHandle } from "node:fs/promises";
import { dirname } from "node:path";
import { hasFsCode } from "./fs-code.ts";
import type { HostMounts } from "./host-mounts.ts";
import { mountedAt } from "./mount-table.ts";

/**
 * Mounts the open file or folder at the target. Idempotent; replaces a different mount there. Source: doBindSubPath of kubernetes v1.36.3
 * pkg/volume/util/subpath/subpath_linux.go.
 */
export async function bindMount(
  source: FileHandle,
  target: string,
  mounts: HostMounts,
  options?: { readonly isWhole?: boolean },
): Promise<void> {
  const wanted = await source.stat();
  while (mountedAt(await mounts.list(), target)) {
    const held = await lstat(target);
    if (held.dev === wanted.dev && held.ino === wanted.ino) return;
    await mounts.unmount(target);
  }
  await makeTarget(target, wanted.isDirectory());
  await mounts.bind(source, target, options);
}

/** A folder can only be mounted on a folder, everything else only on a file. */
async function makeTarget(target: string, isFolder: boolean): Promise<void> {
  await mkdir(dirname(target), { recursive: true, mode: 0o750 });
  const held = await lstat(target).catch((error: unknown) => {
    if (hasFsCode(error, "ENOENT")) return undefined;
    throw error;
  });
  if (held?.isDirectory() === isFolder) return;
  if (held) await (held.isDirectory() ? rmdir(target) : unlink(target));
  if (isFolder) await mkdir(target, { mode: 0o750 });
  else await writeFile(target, "", { mode: 0o640, flag: "wx" });
}
