import type { ContainerMount } from "@virtual-kubelet/pod-runtime";
import type { MountSettings } from "dockerode";
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
    BindOptions: {
      Propagation: propagations[propagation],
      // Engines before 25 are never recursive; from then on they are, unless told otherwise.
      ...(hasRecursion && isReadOnly && (isRecursivelyReadOnly ? { ReadOnlyForceRecursive: true } : { ReadOnlyNonRecursive: true })),
    },
  }));
}

const propagations = { None: "rprivate", HostToContainer: "rslave", Bidirectional: "rshared" } as const;
