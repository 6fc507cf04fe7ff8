import { readResources, type PodResources, type ResourceList } from "./pod-resources.ts";

/** A pod's quality of service. */
export type QosClass = "Guaranteed" | "Burstable" | "BestEffort";

const classes: readonly QosClass[] = ["Guaranteed", "Burstable", "BestEffort"];

/**
 * A pod's quality of service: the class that the API server has written into its status, because it never changes; otherwise
 * {@link computeQosClass}.
 *
 * @throws InvalidInputError if a quantity cannot be read
 */
export function qosClass(pod: {
  readonly spec?: PodResources | undefined;
  readonly status?: { readonly qosClass?: string | undefined } | undefined;
}): QosClass {
  return classes.find((name) => name === pod.status?.qosClass) ?? computeQosClass(pod.spec);
}

/**
 * The quality of service that follows from a pod's spec: from the resources of the pod as a whole if it has any, otherwise from those
 * of its containers and init containers. Ephemeral containers have none.
 * Source: ComputePodQOS in kubernetes v1.36.3 pkg/apis/core/v1/helper/qos/qos.go.
 *
 * @throws InvalidInputError if a quantity cannot be read
 */
export function computeQosClass(spec: PodResources | undefined): QosClass {
  const asked = spec?.resources
    ? [spec.resources]
    : [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])].map(({ resources }) => resources);
  const read = asked.map((each) => ({ limits: computeAmounts(each?.limits), requests: computeAmounts(each?.requests) }));
  if (read.every(({ limits, requests }) => limits.size + requests.size === 0)) return "BestEffort";
  const isLimited = read.every(({ limits }) => limits.size === 2);
  const [limits, requests] = [sumOf(read.map((each) => each.limits)), sumOf(read.map((each) => each.requests))];
  const isSame = requests.size === limits.size && [...requests].every(([name, nano]) => limits.get(name) === nano);
  return isLimited && isSame ? "Guaranteed" : "Burstable";
}

/** CPU and memory above zero, in billionths. */
function computeAmounts(list: ResourceList | undefined): ReadonlyMap<string, bigint> {
  const amounts = [...readResources(list)].filter(([name, { nano }]) => (name === "cpu" || name === "memory") && nano > 0n);
  return new Map(amounts.map(([name, { nano }]) => [name, nano]));
}

function sumOf(all: readonly ReadonlyMap<string, bigint>[]): ReadonlyMap<string, bigint> {
  const sum = new Map<string, bigint>();
  for (const [name, nano] of all.flatMap((each) => [...each])) sum.set(name, (sum.get(name) ?? 0n) + nano);
  return sum;
}
