import type { DeepReadonly, Pod, PodSpec, Taint } from "@virtual-kubelet/kube-client";

type Toleration = DeepReadonly<NonNullable<PodSpec["tolerations"]>[number]>;

/**
 * Whether the pod tolerates the taint.
 * Source: ToleratesTaint in k8s.io/api v0.36.3 core/v1/toleration.go.
 */
export function toleratesTaint(pod: DeepReadonly<Pod>, taint: DeepReadonly<Taint>): boolean {
  return (pod.spec?.tolerations ?? []).some((toleration) => tolerates(toleration, taint));
}

function tolerates({ effect, key, operator, value }: Toleration, taint: DeepReadonly<Taint>): boolean {
  if (effect && effect !== taint.effect) return false;
  if (key && key !== taint.key) return false;
  switch (operator || "Equal") {
    case "Equal":
      return (value ?? "") === (taint.value ?? "");
    case "Exists":
      return true;
    default:
      return false;
  }
}
