import type { DeepReadonly, KubernetesObject } from "@virtual-kubelet/kube-client";

/**
 * Whether one state of an object is later than another. Resource versions are increasing numbers, as Kubernetes 1.35 has
 * promised for all built-in kinds, and as etcd's revisions have always been. A version that is not a number is never newer.
 */
export function isNewer(a: DeepReadonly<KubernetesObject>, b: DeepReadonly<KubernetesObject>): boolean {
  const [x = "", y = ""] = [a.metadata?.resourceVersion, b.metadata?.resourceVersion];
  if (!/^\d+$/.test(x) || !/^\d+$/.test(y)) return false;
  return x.length === y.length ? x > y : x.length > y.length;
}
