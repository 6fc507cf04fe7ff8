import { stat, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { expand, type Container, type DeepReadonly, type Pod, type ResolvedEnvVar } from "@virtual-kubelet/core";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import { isWithin, openResolved, resolveWithin } from "./safe-path.ts";
import { allContainers } from "./volume-source.ts";

export type VolumeMount = NonNullable<DeepReadonly<Container>["volumeMounts"]>[number];

/**
 * The path within a volume that a container mounts; empty: the whole volume. Source: makeMounts of kubernetes v1.36.3
 * pkg/kubelet/kubelet_pods.go.
 *
 * @throws InvalidInputError in a kubelet's words, if it leads out of the volume, or a variable has no value
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

/** An open path within a volume. */
export interface OpenSubPath extends AsyncDisposable {
  readonly handle: FileHandle;
  /** The path with links resolved. */
  readonly path: string;
}

/**
 * Opens a path within a volume. Links may not lead out of the volume. Missing folders are created with the volume's mode.
 *
 * @param volume - the volume's folder, resolved
 * @param anchor - a folder above it whose own path no container can change
 * @throws InvalidInputError if it leads out of the volume; an Error with the file system's code
 */
export async function openSubPath(volume: string, subPath: string, anchor: string): Promise<OpenSubPath> {
  const resolved = await resolveWithin(volume, subPath);
  const { mode } = await stat(volume);
  const handle = await openResolved(anchor, resolved, mode & 0o7777);
  return { handle, path: join(resolved.existing, ...resolved.missing), [Symbol.asyncDispose]: () => handle.close() };
}

/**
 * Whether a container of the pod could replace a subPath after it was checked, because it can write to a folder above it. Such a subPath is
 * unsafe where an open file cannot be mounted.
 */
export function canBeReplaced(pod: DeepReadonly<Pod>, mount: VolumeMount, subPath: string): boolean {
  return allContainers(pod).some(({ volumeMounts = [] }) =>
    volumeMounts.some((other) => {
      if (other === mount || other.name !== mount.name || other.readOnly === true) return false;
      // The expansion is not known here.
      if (other.subPathExpr) return true;
      const folder = join("/", other.subPath ?? "");
      const path = join("/", subPath);
      return path !== folder && isWithin(path, folder);
    }),
  );
}
