import { execFileSync } from "node:child_process";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mountedWithin, readMountTable } from "../volumes/mount-table.ts";

/** A folder for one test. Disposing it removes it with everything that is mounted in it. */
export interface TempFolder extends AsyncDisposable {
  readonly path: string;
}

export async function tempFolder(): Promise<TempFolder> {
  const path = await realpath(await mkdtemp(join(tmpdir(), "pod-runtime-")));
  return {
    path,
    async [Symbol.asyncDispose]() {
      for (const mount of mountedWithin(await readMountTable(), path)) execFileSync("umount", ["-l", mount.path]);
      await rm(path, { recursive: true, force: true });
    },
  };
}
