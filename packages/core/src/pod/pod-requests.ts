import type { Container, DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import { milliUnits, parseQuantity, wholeUnits } from "../kubernetes/quantity.ts";
import { isSidecar } from "../kubernetes/restart-policy.ts";

/** Amounts by resource name: CPU in thousandths of a core, all else in whole units (bytes, pods, devices). */
export type ResourceAmounts = ReadonlyMap<string, bigint>;

type Amounts = Map<string, bigint>;

/**
 * What a pod needs of its node: its containers together, or an init container with the sidecars before it, whichever
 * is more; what the pod asks for as a whole takes their place; its overhead is added.
 * Source: PodRequests in k8s.io/component-helpers v0.36.3 resource/helpers.go.
 *
 * @throws InvalidInputError if a quantity cannot be read
 */
export function podRequests({ spec }: DeepReadonly<Pod>): ResourceAmounts {
  return addAll(together(spec, "requests"), readAmounts(spec?.overhead));
}

/**
 * What a pod may use of its node, as {@link podRequests} has it of what it needs. A resource that only some containers have a
 * limit for is in it with the sum of those. Overhead is added where there is a limit.
 * Source: PodLimits in k8s.io/component-helpers v0.36.3 resource/helpers.go.
 *
 * @throws InvalidInputError if a quantity cannot be read
 */
export function podLimits({ spec }: DeepReadonly<Pod>): ResourceAmounts {
  const total = together(spec, "limits");
  for (const [name, amount] of readAmounts(spec?.overhead)) {
    const limit = total.get(name) ?? 0n;
    if (limit !== 0n) total.set(name, limit + amount);
  }
  return total;
}

/** The containers' together, at their peak, unless the pod as a whole says otherwise. */
function together(spec: DeepReadonly<Pod>["spec"], list: "requests" | "limits"): Amounts {
  const total: Amounts = new Map();
  for (const container of spec?.containers ?? []) addAll(total, amountsOf(container, list));

  const sidecars: Amounts = new Map();
  const initPeak: Amounts = new Map();
  for (const container of spec?.initContainers ?? []) {
    const amounts = amountsOf(container, list);
    const atOnce = addAll(new Map(sidecars), amounts);
    if (isSidecar(container)) {
      addAll(total, amounts);
      addAll(sidecars, amounts);
    }
    raiseTo(initPeak, atOnce);
  }
  raiseTo(total, initPeak);

  for (const [name, amount] of readAmounts(spec?.resources?.[list])) {
    if (name === "cpu" || name === "memory" || name.startsWith("hugepages-")) total.set(name, amount);
  }
  return total;
}

/** Quantities by resource name as {@link ResourceAmounts}. @throws InvalidInputError if one cannot be read */
export function readAmounts(quantities: Readonly<Record<string, string | undefined>> | undefined): ResourceAmounts {
  const amounts: Amounts = new Map();
  for (const [name, text] of Object.entries(quantities ?? {})) {
    if (text === undefined) continue;
    const quantity = parseQuantity(text);
    amounts.set(name, name === "cpu" ? milliUnits(quantity) : wholeUnits(quantity));
  }
  return amounts;
}

function amountsOf(container: DeepReadonly<Container>, list: "requests" | "limits"): ResourceAmounts {
  return readAmounts(container.resources?.[list]);
}

function addAll(target: Amounts, added: ResourceAmounts): Amounts {
  for (const [name, amount] of added) target.set(name, (target.get(name) ?? 0n) + amount);
  return target;
}

function raiseTo(target: Amounts, least: ResourceAmounts): void {
  for (const [name, amount] of least) if (amount > (target.get(name) ?? 0n)) target.set(name, amount);
}
