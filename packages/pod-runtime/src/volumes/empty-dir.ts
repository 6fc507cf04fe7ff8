import type { DeepReadonly, Pod } from "@virtual-kubelet/core";
import { parseQuantity, wholeUnits } from "@virtual-kubelet/kubernetes";
import { chmod, lchown, lstat, mkdir, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { hasFsCode } from "./fs-code.ts";
import type { HostMounts } from "./host-mounts.ts";
import { mountedAt } from "./mount-table.ts";

export interface MemoryDir {
  readonly path: string;
  /** Default: half of the machine's memory. */
  readonly sizeBytes?: number | undefined;
  readonly fsGroup?: number | undefined;
}

/**
 * Creates a world-writable folder, unless it exists. Contents of an existing folder belong to the containers, and stay. Source: setupDir of
 * kubernetes v1.36.3 pkg/volume/emptydir/empty_dir.go.
 */
export async function makeOpenDir(path: string, fsGroup: number | undefined): Promise<void> {
  const isThere = await lstat(path).then(
    (found) => found.isDirectory(),
    (error: unknown) => {
      if (hasFsCode(error, "ENOENT")) return false;
      throw error;
    },
  );
  if (isThere) return;
  // The final name exists only once the folder is complete.
  const unfinished = `${path}.unfinished`;
  await mkdir(dirname(path), { recursive: true, mode: 0o750 });
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished);
  if (fsGroup !== undefined) await lchown(unfinished, -1, fsGroup);
  await chmod(unfinished, fsGroup === undefined ? 0o777 : 0o2777);
  await rename(unfinished, path);
}

/**
 * Creates a world-writable folder in memory, unless it exists. Source: setupTmpfs of kubernetes v1.36.3 pkg/volume/emptydir/empty_dir.go.
 */
export async function makeMemoryDir({ path, sizeBytes, fsGroup }: MemoryDir, mounts: HostMounts): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o750 });
  if (mountedAt(await mounts.list(), path)) return;
  const options = [
    ...(sizeBytes === undefined ? [] : [`size=${sizeBytes}`]),
    ...(fsGroup === undefined ? ["mode=1777"] : ["mode=3777", `gid=${fsGroup}`]),
  ];
  await mounts.mountTmpfs(path, options);
}

/**
 * Maximum size of a folder in memory: the smaller of its limit and the pod's memory; `undefined` without a limit. Source:
 * calculateEmptyDirMemorySize of kubernetes v1.36.3 pkg/volume/emptydir/empty_dir.go.
 *
 * @throws InvalidInputError for a malformed limit
 */
export function memoryDirBytes(sizeLimit: string | undefined, pod: DeepReadonly<Pod>): number | undefined {
  const limits = [sizeLimitBytes(sizeLimit), podMemoryBytes(pod)].filter((bytes) => bytes !== undefined && bytes > 0);
  return limits.length > 0 ? Math.min(...(limits as number[])) : undefined;
}

/** A volume's limit in bytes; `undefined` without one. @throws InvalidInputError for a malformed limit */
export function sizeLimitBytes(sizeLimit: string | undefined): number | undefined {
  if (sizeLimit === undefined) return undefined;
  const bytes = Number(wholeUnits(parseQuantity(sizeLimit)));
  return bytes > 0 ? bytes : undefined;
}

/** Sum of the containers' memory limits; `undefined` if one has no limit. */
function podMemoryBytes({ spec }: DeepReadonly<Pod>): number | undefined {
  const ofPod = spec?.resources?.limits?.["memory"];
  if (ofPod !== undefined) return sizeLimitBytes(ofPod);
  const running = [...(spec?.containers ?? []), ...(spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === "Always")];
  const limits = running.map(({ resources }) => sizeLimitBytes(resources?.limits?.["memory"]));
  return limits.includes(undefined) ? undefined : limits.reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0);
}
