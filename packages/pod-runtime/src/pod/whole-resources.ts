import type { DeepReadonly, Pod } from "@virtual-kubelet/core";
import {
  formatQuantity,
  isPodLevelResource,
  podLimits,
  podRequests,
  toAmounts,
  type ResourceAmounts,
  type ResourceQuantities,
} from "@virtual-kubelet/kubernetes";
import type { Resources } from "./resources.ts";

/**
 * Requests and limits of a pod as a whole, as quantities of CPU, memory and huge pages. Source: getEffectiveAllocatedResources in
 * kubernetes v1.36.3 pkg/kubelet/kubelet_pods.go.
 */
export function wholeResources(pod: DeepReadonly<Pod>): Resources {
  return {
    requests: quantities(
      readOrNone(() => podRequests(pod.spec)),
      isPodLevelResource,
    ),
    limits: quantities(
      readOrNone(() => podLimits(pod.spec)),
      isPodLevelResource,
    ),
  };
}

/** All requests of a pod, as quantities. */
export function allocatedResources(pod: DeepReadonly<Pod>): Readonly<Record<string, string>> {
  return quantities(
    readOrNone(() => podRequests(pod.spec)),
    () => true,
  );
}

/** Empty if the quantities cannot be read: such a spec was refused, or is known only from labels. */
function readOrNone(read: () => ResourceQuantities): ResourceAmounts {
  try {
    return toAmounts(read());
  } catch {
    return new Map();
  }
}

function quantities(amounts: ResourceAmounts, isWanted: (name: string) => boolean): Record<string, string> {
  return Object.fromEntries(
    [...amounts]
      .filter(([name]) => isWanted(name))
      .map(([name, amount]) => [
        name,
        name === "cpu"
          ? formatQuantity({ nano: amount * 1_000_000n, format: "DecimalSI" })
          : formatQuantity({ nano: amount * 1_000_000_000n, format: isBytes(name) ? "BinarySI" : "DecimalSI" }),
      ]),
  );
}

function isBytes(name: string): boolean {
  return name === "memory" || name === "ephemeral-storage" || name.startsWith("hugepages-");
}
