import type { Container, DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import { milliUnits, parseQuantity, wholeUnits } from "../kubernetes/quantity.ts";
import { isSidecar } from "./restart-policy.ts";

/** Amounts by resource name: CPU in thousandths of a core, all else in whole units (bytes, pods, devices). */
export type ResourceAmounts = ReadonlyMap<string, bigint>;

type Amounts = Map<string, bigint>;
type Quantities = Readonly<Record<string, string | undefined>> | undefined;

/**
 * What a pod needs of its node: its containers together, or an init container with the sidecars before it, whichever
 * is more; what the pod asks for as a whole takes their place; its overhead is added.
 * Source: PodRequests in k8s.io/component-helpers v0.36.3 resource/helpers.go.
 *
 * @throws InvalidInputError if a quantity cannot be read
 */
export function podRequests({ spec }: DeepReadonly<Pod>): ResourceAmounts {
  const total: Amounts = new Map();
  for (const container of spec?.containers ?? []) addAll(total, requestsOf(container));

  const sidecars: Amounts = new Map();
  const initPeak: Amounts = new Map();
  for (const container of spec?.initContainers ?? []) {
    const requests = requestsOf(container);
    const atOnce = addAll(new Map(sidecars), requests);
    if (isSidecar(container)) {
      addAll(total, requests);
      addAll(sidecars, requests);
    }
    raiseTo(initPeak, atOnce);
  }
  raiseTo(total, initPeak);

  for (const [name, amount] of readAmounts(spec?.resources?.requests)) {
    if (name === "cpu" || name === "memory" || name.startsWith("hugepages-")) total.set(name, amount);
  }
  return addAll(total, readAmounts(spec?.overhead));
}

/** Quantities by resource name as {@link ResourceAmounts}. @throws InvalidInputError if one cannot be read */
export function readAmounts(quantities: Quantities): ResourceAmounts {
  const amounts: Amounts = new Map();
  for (const [name, text] of Object.entries(quantities ?? {})) {
    if (text === undefined) continue;
    const quantity = parseQuantity(text);
    amounts.set(name, name === "cpu" ? milliUnits(quantity) : wholeUnits(quantity));
  }
  return amounts;
}

function requestsOf(container: DeepReadonly<Container>): ResourceAmounts {
  return readAmounts(container.resources?.requests);
}

function addAll(target: Amounts, added: ResourceAmounts): Amounts {
  for (const [name, amount] of added) target.set(name, (target.get(name) ?? 0n) + amount);
  return target;
}

function raiseTo(target: Amounts, least: ResourceAmounts): void {
  for (const [name, amount] of least) if (amount > (target.get(name) ?? 0n)) target.set(name, amount);
}
