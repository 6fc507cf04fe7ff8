import type { Container, DeepReadonly } from "@virtual-kubelet/core";
import { parseQuantity } from "@virtual-kubelet/kubernetes";

/** What a container asks for and may use. */
export type Resources = DeepReadonly<NonNullable<Container["resources"]>>;

/**
 * What a container runs with, whose pod has limits as a whole: they are its own where it has none.
 * Source: GetLimits in kubernetes v1.36.3 pkg/kubelet/util.
 */
export function withPodLimits(own: Resources | undefined, ofPod: Resources["limits"]): Resources {
  const missing = (["cpu", "memory"] as const).flatMap((name) => {
    const limit = ofPod?.[name];
    return limit === undefined || !isNone(own?.limits?.[name]) || isNone(limit) ? [] : [[name, limit] as const];
  });
  return missing.length === 0 ? (own ?? {}) : { ...own, limits: { ...own?.limits, ...Object.fromEntries(missing) } };
}

/** Names of the resources that differ between two specs, in whatever way they are written. */
export function changedResources(before: Resources | undefined, after: Resources | undefined): readonly string[] {
  const names = new Set([before, after].flatMap((held) => [...Object.keys(held?.limits ?? {}), ...Object.keys(held?.requests ?? {})]));
  return [...names].filter((name) =>
    (["limits", "requests"] as const).some((list) => amount(before, list, name) !== amount(after, list, name)),
  );
}

/** Whether a container has to be started anew for a change of these resources, by its own policy. */
export function needsRestart({ resizePolicy = [] }: DeepReadonly<Container>, changed: readonly string[]): boolean {
  return resizePolicy.some(({ resourceName, restartPolicy }) => restartPolicy === "RestartContainer" && changed.includes(resourceName));
}

function isNone(text: string | undefined): boolean {
  return text === undefined || tryNano(text) === 0n;
}

function tryNano(text: string): bigint | undefined {
  try {
    return parseQuantity(text).nano;
  } catch {
    return undefined;
  }
}

function amount(held: Resources | undefined, list: "limits" | "requests", name: string): string {
  const text = held?.[list]?.[name];
  if (text === undefined) return "";
  return String(tryNano(text) ?? text);
}
