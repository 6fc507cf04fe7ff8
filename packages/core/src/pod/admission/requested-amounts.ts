import type { DeepReadonly, PodSpec } from "@virtual-kubelet/kube-client";
import { podRequests, readAmounts, toAmounts, type ResourceAmounts, type ResourceList } from "@virtual-kubelet/kubernetes";

const ofSpecs = new WeakMap<object, ResourceAmounts>();
const ofLists = new WeakMap<object, ResourceAmounts>();

const none: ResourceAmounts = new Map();

/**
 * Returns what the pods of a spec request. A spec is read once, because several checks need the amounts, and pods of one controller can share
 * the object.
 *
 * @throws InvalidInputError if a quantity cannot be read
 */
export function requestedAmounts(spec: DeepReadonly<PodSpec> | undefined): ResourceAmounts {
  return spec ? once(ofSpecs, spec, () => toAmounts(podRequests(spec))) : none;
}

/** Returns the amounts of a node's resource list, which is read once for all pods. @throws InvalidInputError if a quantity cannot be read */
export function listedAmounts(list: ResourceList | undefined): ResourceAmounts {
  return list ? once(ofLists, list, () => readAmounts(list)) : none;
}

function once(known: WeakMap<object, ResourceAmounts>, key: object, read: () => ResourceAmounts): ResourceAmounts {
  const before = known.get(key);
  if (before) return before;
  const amounts = read();
  known.set(key, amounts);
  return amounts;
}
