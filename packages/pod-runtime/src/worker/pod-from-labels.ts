import type { Container, Pod, PodRef } from "@virtual-kubelet/core";
import type { RuntimeInventory } from "../runtime/container-runtime.ts";
import { labelNames, readOrigin, tryAttempt } from "../runtime/labels.ts";

/**
 * A pod of which only objects at the runtime are left, read from their labels: enough to report its status and to end it. It is never
 * started again.
 */
export function podFromLabels({ namespace, name, uid }: PodRef, { containers }: RuntimeInventory): Pod {
  const newest = new Map<string, { readonly attempt: number; readonly role: string; readonly container: Container }>();
  for (const { labels } of containers) {
    const container = labels[labelNames.container];
    const attempt = tryAttempt(labels);
    if (container === undefined || attempt === undefined || (newest.get(container)?.attempt ?? -1) >= attempt) continue;
    const role = labels[labelNames.role] ?? "main";
    const restartPolicy = role === "sidecar" ? "Always" : undefined;
    newest.set(container, {
      attempt,
      role,
      container: { name: container, ...readOrigin(labels), ...(restartPolicy && { restartPolicy }) },
    });
  }
  const list = (...roles: readonly string[]): Container[] =>
    [...newest.values()].filter(({ role }) => roles.includes(role)).map(({ container }) => container);
  const init = list("init", "sidecar");
  const ephemeral = list("ephemeral");
  return {
    metadata: { namespace, name, uid },
    spec: {
      restartPolicy: "Never",
      containers: [...newest.values()]
        .filter(({ role }) => !["init", "sidecar", "ephemeral"].includes(role))
        .map(({ container }) => container),
      ...(init.length > 0 && { initContainers: init }),
      ...(ephemeral.length > 0 && { ephemeralContainers: ephemeral }),
    },
  };
}
