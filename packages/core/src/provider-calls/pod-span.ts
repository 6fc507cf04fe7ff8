import type { SpanAttributes } from "@virtual-kubelet/kube-client";
import type { PodRef } from "../provider/pod-ref.ts";

/** What a span about a pod is about, in OpenTelemetry's words. */
export function podSpan({ namespace, name, uid }: PodRef): SpanAttributes {
  return { "k8s.pod.uid": uid, "k8s.pod.name": name, "k8s.namespace.name": namespace };
}
