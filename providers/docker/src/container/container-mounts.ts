import type { ContainerMount } from "@virtual-kubelet/pod-runtime";
import type { MountPropagation, MountSettings } from "dockerode";
import { isAtLeast } from "../engine/api-version.ts";

/**
 * Mounts in the engine's words. Typed ones, not `Binds`: a source that is not there is refused, where `Binds` would make
 * it, and a colon in a path is a colon.
 */
export function containerMounts(mounts: readonly ContainerMount[], apiVersion: string): MountSettings[] {
  const hasRecursion = isAtLeast(apiVersion, "1.44");
  return mounts.map(({ hostPath, containerPath, isReadOnly, isRecursivelyReadOnly = false, propagation = "None" }) => ({
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
  }));
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
