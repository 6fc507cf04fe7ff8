import type { DeepReadonly, Pod } from "@virtual-kubelet/core";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import type { GroupIdentity } from "../azure/container-group.ts";
import { annotationPath, annotations, listOf } from "./annotations.ts";

/** Identities of all pods. */
export interface IdentityDefaults {
  readonly identities: readonly string[];
  readonly systemIdentity: boolean;
}

/**
 * Returns a pod's managed identities: those of its annotation, or else the configured ones, and always those that pull its images.
 *
 * @throws InvalidInputError for an entry that is neither `system` nor a resource id
 */
export function identityOf(
  pod: DeepReadonly<Pod>,
  defaults: IdentityDefaults,
  pulling: readonly (string | undefined)[],
): GroupIdentity | undefined {
  const asked = listOf(pod, annotations.identities);
  const isDefault = asked.length === 0;
  for (const entry of asked)
    if (entry !== "system" && !/^\/subscriptions\/.+\/userAssignedIdentities\/[^/]+$/i.test(entry))
      throw new InvalidInputError(
        `${annotationPath(annotations.identities)}: "${entry}": expected system, or the resource id of a managed identity`,
      );
  const hasSystem = isDefault ? defaults.systemIdentity : asked.includes("system");
  const assigned = [...(isDefault ? defaults.identities : asked.filter((entry) => entry !== "system")), ...pulling].filter(
    (entry) => entry !== undefined,
  );
  if (assigned.length === 0) return hasSystem ? { type: "SystemAssigned" } : undefined;
  return {
    type: hasSystem ? "SystemAssigned, UserAssigned" : "UserAssigned",
    userAssignedIdentities: Object.fromEntries(assigned.map((id) => [id, {}])),
  };
}
