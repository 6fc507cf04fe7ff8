import type { ProbeKind } from "./probe-schedule.ts";

/** A kubelet's event message for an attempt of a probe; `what` is `failed: …` or `warning: …`. */
export function attemptMessage(kind: ProbeKind, what: string): string {
  return `${kind[0]?.toUpperCase()}${kind.slice(1)} probe ${what}`;
}

/**
 * A kubelet's event message for a container that is stopped because of a probe. Source: kubernetes v1.36.3
 * pkg/kubelet/kuberuntime/kuberuntime_manager.go.
 */
export function killMessage(
  { name, isSidecar, isRestarted }: { readonly name: string; readonly isSidecar: boolean; readonly isRestarted: boolean },
  kind: ProbeKind,
): string {
  const what = `ontainer ${name} failed ${kind} probe`;
  return isSidecar ? `Init c${what}` : `C${what}${isRestarted ? ", will be restarted" : ""}`;
}
