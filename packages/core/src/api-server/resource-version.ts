import type { DeepReadonly, KubernetesObject } from "@virtual-kubelet/kube-client";

/**
 * Whether one state of an object is later than another. Resource versions are numbers that grow, as Kubernetes 1.35 has
 * promised for all built-in kinds and etcd's revisions always did. What is no number is not newer than anything.
 */
export function isNewer(a: DeepReadonly<KubernetesObject>, b: DeepReadonly<KubernetesObject>): boolean {
  const [x = "", y = ""] = [a.metadata?.resourceVersion, b.metadata?.resourceVersion];
  if (!/^\d+$/.test(x) || !/^\d+$/.test(y)) return false;
  return x.length === y.length ? x > y : x.length > y.length;
}
