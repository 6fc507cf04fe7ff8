import { readAmounts, type DeepReadonly, type Pod } from "@virtual-kubelet/core";

/** A pod's quality of service. */
export type QosClass = "Guaranteed" | "Burstable" | "BestEffort";

const classes: readonly QosClass[] = ["Guaranteed", "Burstable", "BestEffort"];

/**
 * A pod's quality of service: what the API server has written into its status, else what follows from its spec. It never changes.
 * Source: GetPodQOS in kubernetes v1.36.3 pkg/apis/core/v1/helper/qos/qos.go.
 *
 * @throws InvalidInputError for a quantity that is none
 */
export function qosClass({ spec, status }: DeepReadonly<Pod>): QosClass {
  const known = classes.find((name) => name === status?.qosClass);
  if (known) return known;
  // What the pod says as a whole is all that counts where it says anything; ephemeral containers have no resources.
  const asked = spec?.resources
    ? [spec.resources]
    : [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])].map(({ resources }) => resources);
  const read = asked.map((each) => ({ limits: computed(each?.limits), requests: computed(each?.requests) }));
  if (read.every(({ limits, requests }) => limits.size + requests.size === 0)) return "BestEffort";
  const isLimited = read.every(({ limits }) => limits.size === 2);
  const [limits, requests] = [sumOf(read.map((each) => each.limits)), sumOf(read.map((each) => each.requests))];
  const isSame = requests.size === limits.size && [...requests].every(([name, amount]) => limits.get(name) === amount);
  return isLimited && isSame ? "Guaranteed" : "Burstable";
}

/** CPU and memory of more than nothing. */
function computed(quantities: Readonly<Record<string, string>> | undefined): ReadonlyMap<string, bigint> {
  return new Map([...readAmounts(quantities)].filter(([name, amount]) => (name === "cpu" || name === "memory") && amount > 0n));
}

function sumOf(all: readonly ReadonlyMap<string, bigint>[]): ReadonlyMap<string, bigint> {
  const sum = new Map<string, bigint>();
  for (const [name, amount] of all.flatMap((each) => [...each])) sum.set(name, (sum.get(name) ?? 0n) + amount);
  return sum;
}
