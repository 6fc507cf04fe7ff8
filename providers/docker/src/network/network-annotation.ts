import type { DeepReadonly, Pod, PolicyAnnotation } from "@virtual-kubelet/core";
import { UnsupportedError } from "@virtual-kubelet/errdefs";
import type { DockerRuntimeSettings } from "../runtime-settings.ts";

/** Annotation by which a pod chooses a network of the engine. */
export const networkAnnotation = "docker.virtual-kubelet.io/network";

/** Annotations by which a pod chooses how it is run. */
export const policyAnnotations: readonly PolicyAnnotation[] = [{ name: networkAnnotation }];

/** Networks that are no pod's own: the machine's, none, and whatever the engine takes. */
const reservedNetworks: ReadonlySet<string> = new Set(["host", "none", "default"]);

/** Whether a name can be that of a network of the engine that pods may be on. `container:ID`, another's network, is none. */
export function isNetworkName(name: string): boolean {
  return /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/.test(name) && !reservedNetworks.has(name);
}

/**
 * The engine's network that a pod is on: by its annotation, which the policy allows, else the configured one.
 *
 * @throws UnsupportedError for one that is no pod's own, whatever the policy says
 */
export function podNetwork({ metadata }: DeepReadonly<Pod>, { network }: Pick<DockerRuntimeSettings, "network">): string {
  const chosen = metadata?.annotations?.[networkAnnotation] ?? network;
  if (isNetworkName(chosen)) return chosen;
  const fieldPath = `metadata.annotations['${networkAnnotation}']`;
  throw new UnsupportedError(`${fieldPath} is ${JSON.stringify(chosen)}; expected a network of the engine, and neither host nor none`, {
    fieldPath,
  });
}
