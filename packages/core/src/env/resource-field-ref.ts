import type { Container, DeepReadonly, EnvVar, Pod } from "@virtual-kubelet/kube-client";
import { divideRoundingUp, milliUnits, tryParseQuantity, wholeUnits, zeroQuantity, type Quantity } from "@virtual-kubelet/kubernetes";
import { missingConfig } from "./config-error.ts";

/** A reference to a request or limit of a container. */
export type ResourceFieldRef = DeepReadonly<NonNullable<NonNullable<EnvVar["valueFrom"]>["resourceFieldRef"]>>;

type Quantities = Readonly<Record<string, string>> | undefined;

/**
 * Returns the value of a container's resource in units of the divisor, rounded up. A container without a limit has the
 * pod's, or otherwise the node's allocatable amount.
 * Source: kubernetes v1.36.3 pkg/kubelet/kubelet_resources.go, pkg/api/v1/resource/helpers.go.
 *
 * @param container - the container with the reference, which may name another one
 * @param allocatable - the node's
 * @throws InvalidInputError for an unknown resource or container
 */
export function resolveResourceFieldRef(
  reference: ResourceFieldRef,
  {
    pod,
    container,
    allocatable,
  }: { readonly pod: DeepReadonly<Pod>; readonly container: DeepReadonly<Container>; readonly allocatable: Quantities },
): string {
  const { resource, containerName } = reference;
  const target = containerName ? findContainer(pod, containerName) : container;
  const [, list = "", name = ""] = /^(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-.+)$/.exec(resource) ?? [];
  if (!list) throw missingConfig(`unsupported container resource : ${resource}`);

  const amounts = list === "limits" ? target.resources?.limits : target.resources?.requests;
  const amount = read(amounts, name) ?? (list === "limits" ? defaultLimit(name, pod, allocatable) : undefined) ?? zeroQuantity;
  const toUnits = name === "cpu" ? milliUnits : wholeUnits;
  const divisor = toUnits(tryParseQuantity(reference.divisor) ?? zeroQuantity) || toUnits({ ...zeroQuantity, nano: 1_000_000_000n });
  return divideRoundingUp(toUnits(amount), divisor).toString();
}

/** Huge pages are never overcommitted: a container without a limit has none. */
function defaultLimit(name: string, pod: DeepReadonly<Pod>, allocatable: Quantities): Quantity | undefined {
  if (name.startsWith("hugepages-")) return undefined;
  const ofPod = name === "ephemeral-storage" ? undefined : read(pod.spec?.resources?.limits, name);
  return ofPod ?? read(allocatable, name);
}

/** Returns the quantity of that name if it is set and not zero. */
function read(quantities: Quantities, name: string): Quantity | undefined {
  const quantity = tryParseQuantity(quantities?.[name]);
  return quantity?.nano ? quantity : undefined;
}

function findContainer({ spec }: DeepReadonly<Pod>, name: string): DeepReadonly<Container> {
  const container = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])].find((candidate) => candidate.name === name);
  if (!container) throw missingConfig(`container ${name} not found`);
  return container;
}
