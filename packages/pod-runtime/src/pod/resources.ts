import type { Container, DeepReadonly } from "@virtual-kubelet/core";
import { parseQuantity } from "@virtual-kubelet/kubernetes";

/** Requests and limits of a container. */
export type Resources = DeepReadonly<NonNullable<Container["resources"]>>;

/**
 * Resources in force for a container: its own, with the pod's limits for limits that it does not set. Source: GetLimits in kubernetes
 * v1.36.3 pkg/kubelet/util.
 */
export function withPodLimits(own: Resources | undefined, ofPod: Resources["limits"]): Resources {
  const missing = (["cpu", "memory"] as const).flatMap((name) => {
    const limit = ofPod?.[name];
    return limit === undefined || !isNone(own?.limits?.[name]) || isNone(limit) ? [] : [[name, limit] as const];
  });
  return missing.length === 0 ? (own ?? {}) : { ...own, limits: { ...own?.limits, ...Object.fromEntries(missing) } };
}

/** Names of the resources whose quantities differ. Different notations of one quantity are equal. */
export function changedResources(before: Resources | undefined, after: Resources | undefined): readonly string[] {
  const names = new Set([before, after].flatMap((held) => [...Object.keys(held?.limits ?? {}), ...Object.keys(held?.requests ?? {})]));
  return [...names].filter((name) =>
    (["limits", "requests"] as const).some((list) => amount(before, list, name) !== amount(after, list, name)),
  );
}

/** Whether the container's resize policy demands a restart for a change of these resources. */
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
