import type { Owner } from "@virtual-kubelet/core";
import type { RegisterTaskDefinitionCommandInput } from "@aws-sdk/client-ecs";
import { createHash } from "node:crypto";
import { ownerHash } from "./pod-identity.ts";

/** Returns the beginning of the names of all families of a node. */
export function familyPrefixOf(owner: Owner): string {
  return `vk-${ownerHash(owner)}-`;
}

/** Returns the family of a task definition: its name depends on the content alone, so that replicas share one definition. */
export function familyOf(definition: Omit<RegisterTaskDefinitionCommandInput, "family">, owner: Owner): string {
  return `${familyPrefixOf(owner)}${createHash("sha256").update(canonical(definition)).digest("hex").slice(0, 32)}`;
}

/** JSON with sorted keys. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
