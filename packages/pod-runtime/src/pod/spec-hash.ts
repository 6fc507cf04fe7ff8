import type { Container, DeepReadonly } from "@virtual-kubelet/core";
import { createHash } from "node:crypto";

/**
 * Hash of the fields whose change restarts a container. In a running pod only the image and the resources can change, and resources are
 * changed in place.
 */
export function specHash(container: DeepReadonly<Container>): string {
  return createHash("sha256")
    .update(`${container.name}\0${container.image ?? ""}`)
    .digest("hex")
    .slice(0, 16);
}
