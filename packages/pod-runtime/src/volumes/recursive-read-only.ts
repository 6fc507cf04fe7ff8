import { InvalidInputError } from "@virtual-kubelet/errdefs";
import type { VolumeMount } from "./sub-path.ts";

/**
 * Whether mounts below it are read-only, too. Source: resolveRecursiveReadOnly of kubernetes v1.36.3 pkg/kubelet/kubelet_pods.go.
 *
 * @throws InvalidInputError in a kubelet's words
 */
export function isRecursivelyReadOnly(mount: VolumeMount, isSupported: boolean): boolean {
  const { name, readOnly, mountPropagation = "None", recursiveReadOnly: mode = "Disabled" } = mount;
  if (mode === "Disabled") return false;
  const refuse = (problem: string): never => {
    throw new InvalidInputError(`failed to resolve recursive read-only mode: ${problem}`);
  };
  const wish = `volume "${name}" requested recursive read-only mode, but it is not`;
  if (!readOnly) return refuse(`${wish} read-only`);
  if (mountPropagation !== "None") return refuse(`${wish} compatible with propagation "${mountPropagation}"`);
  if (mode === "IfPossible") return isSupported;
  if (mode !== "Enabled") return refuse(`unknown recursive read-only mode "${mode}"`);
  return isSupported || refuse(`${wish} supported by the runtime`);
}
