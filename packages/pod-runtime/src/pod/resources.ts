import { parseQuantity, type Container, type DeepReadonly } from "@virtual-kubelet/core";

/** What a container asks for and may use. */
export type Resources = DeepReadonly<NonNullable<Container["resources"]>>;

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

function amount(held: Resources | undefined, list: "limits" | "requests", name: string): string {
  const text = held?.[list]?.[name];
  if (text === undefined) return "";
  try {
    return String(parseQuantity(text).nano);
  } catch {
    return text;
  }
}
