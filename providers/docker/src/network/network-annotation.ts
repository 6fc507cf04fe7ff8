import type { DeepReadonly, Pod, PolicyAnnotation } from "@virtual-kubelet/core";
import { UnsupportedError } from "@virtual-kubelet/errdefs";
import type { DockerRuntimeSettings } from "../runtime-settings.ts";

/** Annotation with which a pod chooses a network of the engine. */
export const networkAnnotation = "docker.virtual-kubelet.io/network";

/** Annotations with which a pod chooses how it is run. */
export const policyAnnotations: readonly PolicyAnnotation[] = [{ name: networkAnnotation }];

/** Names that are not pods' own networks. */
const reservedNetworks: ReadonlySet<string> = new Set(["host", "none", "default"]);

/** Whether a name can be that of an engine's network for pods. `container:ID`, the network of another container, is not. */
export function isNetworkName(name: string): boolean {
  return /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/.test(name) && !reservedNetworks.has(name);
}

/**
 * The engine's network of a pod: from its annotation, which the policy must allow, else the configured one.
 *
 * @throws UnsupportedError for a network that is not a pod's own, whatever the policy says
 */
export function podNetwork({ metadata }: DeepReadonly<Pod>, { network }: Pick<DockerRuntimeSettings, "network">): string {
  const chosen = metadata?.annotations?.[networkAnnotation] ?? network;
  if (isNetworkName(chosen)) return chosen;
  const fieldPath = `metadata.annotations['${networkAnnotation}']`;
  throw new UnsupportedError(`${fieldPath} is ${JSON.stringify(chosen)}; expected a network of the engine, and neither host nor none`, {
    fieldPath,
  });
}
