import { UnsupportedError } from "@virtual-kubelet/errdefs";
import type { ContainerMount, DriverVolumeMount } from "@virtual-kubelet/pod-runtime";
import type { MountPropagation, MountSettings } from "dockerode";
import { isAtLeast } from "../engine/api-version.ts";

/**
 * Mounts in the engine's words. Typed ones, not `Binds`: a source that is not there is refused, where `Binds` would make
 * it, and a colon in a path is a colon.
 *
 * An image is mounted by engines from API 1.48 on; see {@link "../image-volume/image-volumes.ts"} for all others.
 * Source: `ImageOptions` of moby v28 api/types/mount/mount.go. Such a mount is read-only whatever is said.
 */
export function containerMounts(mounts: readonly ContainerMount[], apiVersion: string): EngineMount[] {
  return mounts.map((mount) => {
    if (mount.image) return imageMount(mount.containerPath, mount.image);
    return mount.volume ? volumeMount(mount, mount.volume, apiVersion) : bindMount(mount, apiVersion);
  });
}

/** A mount as dockerode knows it, or of an image, which it does not know. */
type EngineMount = MountSettings & { readonly ImageOptions?: { readonly Subpath: string } };

function imageMount(target: string, { id, subPath }: NonNullable<ContainerMount["image"]>): EngineMount {
  // Its types are older than this one.
  const Type = "image" as MountSettings["Type"];
  return { Type, Source: id, Target: target, ReadOnly: true, ...(subPath !== "" && { ImageOptions: { Subpath: subPath } }) };
}

/** Older engines take a part for nothing, and mount all. Source: moby v26 api/types/mount/mount.go, `VolumeOptions.Subpath`. */
const subPathApiVersion = "1.45";

/**
 * The engine makes the volume if it is not there. Nothing of the image is copied into it, as on a kubelet.
 *
 * @throws UnsupportedError for a part of it that the engine cannot mount
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
    // The types want a propagation, the engine does not.
    BindOptions: {
      ...bindPropagation(propagation, isRecursivelyReadOnly && hasRecursion),
      // Engines before 25 are never recursive; from then on they are, unless told otherwise.
      ...(hasRecursion && isReadOnly && (isRecursivelyReadOnly ? { ReadOnlyForceRecursive: true } : { ReadOnlyNonRecursive: true })),
    } as NonNullable<MountSettings["BindOptions"]>,
  };
}

const propagations = { HostToContainer: "rslave", Bidirectional: "rshared" } as const;

/**
 * Without a word an engine mounts privately, and a folder that holds its own data, such as `/` or `/var/lib`, as a slave: it
 * refuses any other for that one, while it asks for the word where a mount is to be read-only throughout.
 */
function bindPropagation(propagation: NonNullable<ContainerMount["propagation"]>, isForced: boolean): { Propagation?: MountPropagation } {
  if (propagation !== "None") return { Propagation: propagations[propagation] };
  return isForced ? { Propagation: "rprivate" } : {};
}
