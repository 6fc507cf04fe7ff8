import type { DeepReadonly, Pod } from "@virtual-kubelet/core";

/** The pod's name in a kubelet's messages. Source: Pod in kubernetes v1.36.3 pkg/kubelet/util/format/pod.go. */
export function podName({ metadata }: DeepReadonly<Pod>): string {
  const { name, namespace, uid } = metadata ?? {};
  return `${name}_${namespace}(${uid})`;
}
