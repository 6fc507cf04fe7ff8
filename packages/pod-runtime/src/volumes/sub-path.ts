import { stat, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { expand, type Container, type DeepReadonly, type Pod, type ResolvedEnvVar } from "@virtual-kubelet/core";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import { isWithin, openResolved, resolveWithin } from "./safe-path.ts";
import { allContainers } from "./volume-source.ts";

/** One entry of a container's `volumeMounts`. */
export type VolumeMount = NonNullable<DeepReadonly<Container>["volumeMounts"]>[number];

/**
 * The path within a volume that a container mounts; empty: all of it.
 * Source: makeMounts of kubernetes v1.36.3 pkg/kubelet/kubelet_pods.go.
 *
 * @throws InvalidInputError in a kubelet's words, for one that leads out of the volume, or names a variable without value
 */
export function subPathOf({ subPath = "", subPathExpr = "" }: VolumeMount, environment: readonly ResolvedEnvVar[]): string {
  const path = subPathExpr === "" ? subPath : expandPath(subPathExpr, environment);
  if (path.startsWith("/")) throw new InvalidInputError(`error SubPath \`${path}\` must not be an absolute path`);
  if (path.split("/").includes("..")) throw new InvalidInputError(`unable to provision SubPath \`${path}\`: must not contain '..'`);
  if (path.includes("\0"))
    throw new InvalidInputError(`unable to provision SubPath ${JSON.stringify(path)}: must not contain a null character`);
  return path;
}

function expandPath(expression: string, environment: readonly ResolvedEnvVar[]): string {
  const values = new Map(environment.map(({ name, value }) => [name, value]));
  const missing = new Set<string>();
  const path = expand(expression, (name) => {
    const value = values.get(name);
    if (value === undefined || value === "") missing.add(name);
    return value;
  });
  if (missing.size > 0) throw new InvalidInputError(`missing value for ${[...missing].sort().join(", ")}`);
  return path;
}

/** A path within a volume, opened. */
export interface OpenSubPath extends AsyncDisposable {
  readonly handle: FileHandle;
  /** By its name, with links resolved. */
  readonly path: string;
}

/**
 * Opens a path within a volume, through links as long as they stay in it. What is missing is made: folders of the volume's
 * own mode.
 *
 * @param volume - the volume's folder, resolved
 * @param anchor - a folder above it whose own path no container can change
 * @throws InvalidInputError if it leads out of the volume; an Error with a code of the file system
 */
export async function openSubPath(volume: string, subPath: string, anchor: string): Promise<OpenSubPath> {
  const resolved = await resolveWithin(volume, subPath);
  const { mode } = await stat(volume);
  const handle = await openResolved(anchor, resolved, mode & 0o7777);
  return { handle, path: join(resolved.existing, ...resolved.missing), [Symbol.asyncDispose]: () => handle.close() };
}

/**
 * Whether a container of the pod could put another thing in a subPath's place after it was looked at: it may write to a
 * folder above it. Where subPaths cannot be mounted by what was opened, such a one cannot be had safely.
 */
export function canBeReplaced(pod: DeepReadonly<Pod>, mount: VolumeMount, subPath: string): boolean {
  return allContainers(pod).some(({ volumeMounts = [] }) =>
    volumeMounts.some((other) => {
      if (other === mount || other.name !== mount.name || other.readOnly === true) return false;
      // What it expands to is not known here.
      if (other.subPathExpr) return true;
      const folder = join("/", other.subPath ?? "");
      const path = join("/", subPath);
      return path !== folder && isWithin(path, folder);
    }),
  );
}
