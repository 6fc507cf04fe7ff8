import type { Container, DeepReadonly, Logger, Pod, ResolvedEnvVar } from "@virtual-kubelet/core";
import { InvalidInputError, isInvalidInput, UnsupportedError } from "@virtual-kubelet/errdefs";
import { realpath } from "node:fs/promises";
import { posix } from "node:path";
import type { ContainerMount } from "../runtime/runtime-spec.ts";
import { bindMount } from "./bind-mount.ts";
import type { HostMounts } from "./host-mounts.ts";
import { findHostPath, openHostPath } from "./host-path.ts";
import type { PodDirectory } from "./pod-directory.ts";
import type { ReadyVolume } from "./ready-volume.ts";
import { isRecursivelyReadOnly } from "./recursive-read-only.ts";
import { canBeReplaced, openSubPath, subPathOf, type VolumeMount } from "./sub-path.ts";

/** Facts about a container's start that its mounts depend on. */
export interface MountFacts {
  /** For `subPathExpr`. */
  readonly environment: readonly ResolvedEnvVar[];
  /** Images of the volumes of type image: volume name ▶ image id by content. Default: none. */
  readonly volumeImages?: ReadonlyMap<string, string> | undefined;
}

export interface ContainerMountsOptions {
  readonly pod: DeepReadonly<Pod>;
  readonly container: DeepReadonly<Container>;
  readonly facts: MountFacts;
  /** The pod's volumes on the disk, by name. */
  readonly volumes: ReadonlyMap<string, ReadyVolume>;
  readonly directory: PodDirectory;
  /** `undefined` where mounting is impossible. */
  readonly mounts: HostMounts | undefined;
  readonly recursiveReadOnly: boolean;
  readonly logger: Logger;
}

/**
 * Mounts of a container for its pod's volumes, in the order of its spec. Source: makeMounts of kubernetes v1.36.3
 * pkg/kubelet/kubelet_pods.go.
 *
 * @throws InvalidInputError in a kubelet's words; UnsupportedError
 */
export async function containerMounts(options: ContainerMountsOptions): Promise<readonly ContainerMount[]> {
  const mounts: ContainerMount[] = [];
  for (const [index, mount] of (options.container.volumeMounts ?? []).entries()) {
    const image = options.facts.volumeImages?.get(mount.name);
    if (image !== undefined) {
      mounts.push(imageMount(mount, image, options));
      continue;
    }
    const volume = options.volumes.get(mount.name);
    if (!volume) throw new InvalidInputError(`cannot find volume "${mount.name}" to mount into container "${options.container.name}"`);
    const { driverVolume } = volume;
    mounts.push({
      hostPath: driverVolume ? "" : await hostPathOf(mount, { ...options, volume, index }),
      ...(driverVolume && { volume: { ...driverVolume, subPath: subPathOf(mount, options.facts.environment) } }),
      containerPath: posix.join("/", mount.mountPath),
      isReadOnly: mount.readOnly === true || volume.isReadOnly === true,
      isRecursivelyReadOnly: isRecursivelyReadOnly(mount, options.recursiveReadOnly),
      propagation: propagationOf(mount),
    });
  }
  return mounts;
}

/** An image is always read-only, and nothing is mounted inside it. */
function imageMount(
  mount: VolumeMount,
  id: string,
  { facts, recursiveReadOnly }: Pick<ContainerMountsOptions, "facts" | "recursiveReadOnly">,
): ContainerMount {
  return {
    hostPath: "",
    image: { id, subPath: subPathOf(mount, facts.environment) },
    containerPath: posix.join("/", mount.mountPath),
    isReadOnly: true,
    isRecursivelyReadOnly: isRecursivelyReadOnly(mount, recursiveReadOnly),
    propagation: propagationOf(mount),
  };
}

function propagationOf({ mountPropagation = "None" }: VolumeMount): NonNullable<ContainerMount["propagation"]> {
  if (mountPropagation === "None" || mountPropagation === "HostToContainer" || mountPropagation === "Bidirectional")
    return mountPropagation;
  throw new InvalidInputError(`invalid MountPropagation mode: "${mountPropagation}"`);
}

type Place = ContainerMountsOptions & { readonly volume: ReadyVolume; readonly index: number };

/** Path for the runtime to mount. Containers cannot replace what it names. */
async function hostPathOf(mount: VolumeMount, place: Place): Promise<string> {
  const subPath = subPathOf(mount, place.facts.environment);
  if (subPath !== "") return placeSubPath(mount, subPath, place);
  return place.volume.nodePaths ? placeHostPath(mount, place.volume.nodePaths, place) : place.volume.path;
}

async function placeHostPath(
  mount: VolumeMount,
  hostPaths: readonly string[],
  { volume, directory, container, index, mounts }: Place,
): Promise<string> {
  const found = await findHostPath({ path: volume.path, type: "", policy: { hostPaths } });
  // With `Bidirectional`, mounts of the container must propagate through a mount of the node.
  if (found.isFixed || mount.mountPropagation === "Bidirectional") return found.path;
  if (!mounts) throw notSafe(mount, `${volume.path} is below a folder that other pods may write to`);
  await using handle = await openHostPath(found);
  const target = directory.subPath(mount.name, container.name, index);
  await bindMount(handle, target, mounts, { isWhole: true });
  return target;
}

async function placeSubPath(mount: VolumeMount, subPath: string, place: Place): Promise<string> {
  const { pod, container, volume, directory, mounts, index, logger } = place;
  const { nodePaths: hostPaths } = volume;
  const folder = hostPaths
    ? (await findHostPath({ path: volume.path, type: "", policy: { hostPaths } })).path
    : await realpath(volume.path);
  if (!mounts && (hostPaths || (volume.source.kind === "emptyDir" && canBeReplaced(pod, mount, subPath)))) {
    throw notSafe(mount, "a container may write to a folder above its subPath");
  }
  try {
    await using opened = await openSubPath(folder, subPath, hostPaths ? "/" : folder);
    if (!mounts) return opened.path;
    const target = directory.subPath(mount.name, container.name, index);
    await bindMount(opened.handle, target, mounts);
    return target;
  } catch (error) {
    // Like a kubelet, the error hides the details from users, because they describe the node's disk.
    logger.warn({ container: container.name, volume: mount.name, err: error }, "a subPath could not be mounted");
    const message = `failed to prepare subPath for volumeMount "${mount.name}" of container "${container.name}"`;
    throw isInvalidInput(error) ? new InvalidInputError(message) : new Error(message);
  }
}

function notSafe({ name }: VolumeMount, problem: string): UnsupportedError {
  return new UnsupportedError(
    `mount volume "${name}": ${problem}, and the program may not mount it safely; run it as root with CAP_SYS_ADMIN`,
    {
      fieldPath: "spec.containers[*].volumeMounts[*].subPath",
    },
  );
}
