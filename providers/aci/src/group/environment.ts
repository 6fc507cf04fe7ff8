import type { ResolvedEnvVar } from "@virtual-kubelet/core";
import type { GroupEnvVar } from "../azure/container-group.ts";
import type { PlacedContainer } from "./fields.ts";

/**
 * Translates a container's resolved variables. Values that come from secrets are sent as secure values, which Azure never returns: those of
 * `secretKeyRef`, those that expand such a variable, and, of a container with `envFrom.secretRef`, all that `env` does not set.
 */
export function variablesOf({ container }: PlacedContainer, resolved: readonly ResolvedEnvVar[]): readonly GroupEnvVar[] {
  const declared = new Map((container.env ?? []).map((entry) => [entry.name, entry]));
  const hasSecretSource = (container.envFrom ?? []).some(({ secretRef }) => secretRef !== undefined);
  const secret = new Set<string>();
  for (const { name } of resolved) {
    const entry = declared.get(name);
    if (entry === undefined ? hasSecretSource : entry.valueFrom?.secretKeyRef !== undefined) secret.add(name);
  }
  // A variable may expand those that precede it, so that one pass finds all.
  for (const entry of container.env ?? []) if (referencesOf(entry.value ?? "").some((name) => secret.has(name))) secret.add(entry.name);
  // The last of several values of one name is in force.
  const last = new Map(resolved.map(({ name, value }) => [name, value]));
  return Array.from(last, ([name, value]) => (secret.has(name) ? { name, secureValue: value } : { name, value }));
}

function referencesOf(text: string): readonly string[] {
  return Array.from(text.matchAll(/\$\(([^)]+)\)/g), ([, name = ""]) => name);
}
