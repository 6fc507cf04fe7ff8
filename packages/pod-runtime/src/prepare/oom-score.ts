import type { Container, DeepReadonly, Pod } from "@virtual-kubelet/core";
import { isSidecar, parseQuantity, containerResources, toAmounts, qosClass, wholeUnits } from "@virtual-kubelet/kubernetes";

const guaranteedScore = -997;
const bestEffortScore = 1000;
/** Minimum priority of critical pods. Source: SystemCriticalPriority in kubernetes v1.36.3 pkg/apis/scheduling/types.go. */
const criticalPriority = 2_000_000_000;

/**
 * Order in which the kernel kills containers when memory is short: -997 is last, 1000 first. It depends on the pod's QoS class. Source:
 * GetContainerOOMScoreAdjust in kubernetes v1.36.3 pkg/kubelet/qos/policy.go.
 *
 * @param memoryBytes - the node's memory
 * @throws InvalidInputError for a malformed quantity
 */
export function oomScoreAdjustment(pod: DeepReadonly<Pod>, container: DeepReadonly<Container>, memoryBytes: number): number {
  const { spec } = pod;
  if (spec?.priorityClassName === "system-node-critical" && (spec.priority ?? 0) >= criticalPriority) return guaranteedScore;
  const quality = qosClass(pod);
  if (quality === "Guaranteed") return guaranteedScore;
  if (quality === "BestEffort") return bestEffortScore;

  const share = unusedShare(pod);
  const score = (requestBytes: bigint): number => 1000 - Number((1000n * (requestBytes + share)) / BigInt(Math.max(1, memoryBytes)));
  const own = score(requestOf(container));
  // A sidecar is not killed before the containers that it serves.
  const adjusted = isSidecarOf(pod, container) ? Math.min(own, score(leastRequest(spec?.containers ?? []))) : own;
  return Math.min(Math.max(adjusted, 1000 + guaranteedScore), bestEffortScore - 1);
}

function requestOf({ resources }: DeepReadonly<Container>): bigint {
  return wholeUnits(parseQuantity(resources?.requests?.["memory"] ?? "0"));
}

function leastRequest(containers: readonly DeepReadonly<Container>[]): bigint {
  const [first = 0n, ...others] = containers.map(requestOf);
  return others.reduce((least, request) => (request < least ? request : least), first);
}

/** Each container's equal share of the pod-level request that no container requests itself. */
function unusedShare(pod: DeepReadonly<Pod>): bigint {
  const { spec } = pod;
  const ofPod = wholeUnits(parseQuantity(spec?.resources?.requests?.["memory"] ?? "0"));
  if (!spec || ofPod === 0n) return 0n;
  const ofContainers = toAmounts(containerResources(spec, "requests")).get("memory") ?? 0n;
  return (ofPod - ofContainers) / BigInt(spec.containers.length + (spec.initContainers?.length ?? 0));
}

function isSidecarOf({ spec }: DeepReadonly<Pod>, container: DeepReadonly<Container>): boolean {
  return isSidecar(container) && (spec?.initContainers ?? []).some(({ name }) => name === container.name);
}
