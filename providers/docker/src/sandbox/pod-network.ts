import type { DeepReadonly, Pod } from "@virtual-kubelet/core";
import { UnsupportedError } from "@virtual-kubelet/errdefs";
import type { DockerRuntimeSettings } from "../runtime-settings.ts";

/** Annotation by which a pod chooses a network of the engine. */
export const networkAnnotation = "docker.virtual-kubelet.io/network";

/**
 * The engine's network that a pod is on: by its annotation, else the configured one.
 *
 * @throws UnsupportedError for one that pods may not choose
 */
export function podNetwork(
  { metadata }: DeepReadonly<Pod>,
  { network, podNetworks }: Pick<DockerRuntimeSettings, "network" | "podNetworks">,
): string {
  const chosen = metadata?.annotations?.[networkAnnotation];
  if (chosen === undefined || chosen === network) return network;
  if (podNetworks.includes(chosen)) return chosen;
  const allowed = [network, ...podNetworks].map((name) => JSON.stringify(name)).join(", ");
  throw new UnsupportedError(
    `network ${JSON.stringify(chosen)} is not open to pods, expected ${allowed}; podNetworks of the provider's configuration opens it`,
    {
      fieldPath: `metadata.annotations["${networkAnnotation}"]`,
    },
  );
}
