import { UnsupportedError } from "@virtual-kubelet/errdefs";
import type { ContainerMount, DriverVolumeMount } from "@virtual-kubelet/pod-runtime";
import type { MountPropagation, MountSettings } from "dockerode";
import { isAtLeast } from "../engine/api-version.ts";

/**
 * Mounts in the engine's form. They are typed mounts, not `Binds`, because `Binds` would create a missing source and split paths at colons.
 *
 * Engines mount images from API 1.48 on; see {@link "../image-volume/image-volumes.ts"} for older ones. Source: `ImageOptions` of moby v28
 * api/types/mount/mount.go. Such a mount is always read-only.
 */
export function containerMounts(mounts: readonly ContainerMount[], apiVersion: string): EngineMount[] {
  return mounts.map((mount) => {
    if (mount.image) return imageMount(mount.containerPath, mount.image);
    return mount.volume ? volumeMount(mount, mount.volume, apiVersion) : bindMount(mount, apiVersion);
  });
}

/** A mount in dockerode's types, or of an image, which they lack. */
type EngineMount = MountSettings & { readonly ImageOptions?: { readonly Subpath: string } };

function imageMount(target: string, { id, subPath }: NonNullable<ContainerMount["image"]>): EngineMount {
  // dockerode's types are older than this mount type.
  const Type = "image" as MountSettings["Type"];
  return { Type, Source: id, Target: target, ReadOnly: true, ...(subPath !== "" && { ImageOptions: { Subpath: subPath } }) };
}

/** Older engines ignore the subpath and mount everything. Source: moby v26 api/types/mount/mount.go, `VolumeOptions.Subpath`. */
const subPathApiVersion = "1.45";

/**
 * The engine creates a missing volume. Like on a kubelet, the image's files are not copied into it.
 *
 * @throws UnsupportedError for a subpath that the engine cannot mount
 */
function volumeMount(
  { containerPath, isReadOnly }: ContainerMount,
  { name, driver, options, subPath }: DriverVolumeMount,
  apiVersion: string,
): EngineMount {
  if (subPath !== "" && !isAtLeast(apiVersion, subPathApiVersion)) {
    throw new UnsupportedError(
      `mount ${subPath} of volume ${name}: the engine has API ${apiVersion}, expected ${subPathApiVersion} or newer`,
      {
        fieldPath: "spec.containers[*].volumeMounts[*].subPath",
      },
    );
  }
  const driverConfig = { NoCopy: true, Labels: {}, DriverConfig: { Name: driver, Options: { ...options } } };
  return {
    Type: "volume",
    Source: name,
    Target: containerPath,
    ReadOnly: isReadOnly,
    VolumeOptions: { ...driverConfig, ...(subPath !== "" && { Subpath: subPath }) },
  };
}

function bindMount(mount: ContainerMount, apiVersion: string): EngineMount {
  const { hostPath, containerPath, isReadOnly, isRecursivelyReadOnly = false, propagation = "None" } = mount;
  const hasRecursion = isAtLeast(apiVersion, "1.44");
  return {
    Type: "bind",
    Source: hostPath,
    Target: containerPath,
    ReadOnly: isReadOnly,
    // dockerode's types require a propagation; the engine does not.
    BindOptions: {
      ...bindPropagation(propagation, isRecursivelyReadOnly && hasRecursion),
      // Engines before 25 are never recursive; newer ones are by default.
      ...(hasRecursion && isReadOnly && (isRecursivelyReadOnly ? { ReadOnlyForceRecursive: true } : { ReadOnlyNonRecursive: true })),
    } as NonNullable<MountSettings["BindOptions"]>,
  };
}

const propagations = { HostToContainer: "rslave", Bidirectional: "rshared" } as const;

/**
 * Propagation of a mount, if it must be set. By default an engine mounts privately, and mounts a folder that contains its own data, such as
 * `/` or `/var/lib`, as a slave: it refuses any other propagation for that folder, but requires one for a recursive read-only mount.
 */
function bindPropagation(propagation: NonNullable<ContainerMount["propagation"]>, isForced: boolean): { Propagation?: MountPropagation } {
  if (propagation !== "None") return { Propagation: propagations[propagation] };
  return isForced ? { Propagation: "rprivate" } : {};
}
