import type { SpanAttributes } from "@virtual-kubelet/kube-client";
import type { PodRef } from "../provider/pod-ref.ts";

/** Returns the attributes of a span about a pod, with OpenTelemetry's names. */
export function podSpan({ namespace, name, uid }: PodRef): SpanAttributes {
  return { "k8s.pod.uid": uid, "k8s.pod.name": name, "k8s.namespace.name": namespace };
}
