import type { EndpointAddress, EndpointPort, EndpointSubset } from "./endpoint-fields.ts";

/** Maximum number of addresses in an Endpoints object. Source: Kubernetes v1.36.3 pkg/controller/endpoint, `maxCapacity`. */
const mostAddresses = 1000;

/** An address with the ports at which it can be reached. */
export interface ReachableAddress {
  readonly address: EndpointAddress;
  readonly isReady: boolean;
  /** Empty for headless services without ports. */
  readonly ports: readonly EndpointPort[];
}

/**
 * Groups addresses into subsets: each port is in the subset of the addresses that have it, and ports with the same addresses share a subset.
 *
 * Source: Kubernetes v1.36.3 pkg/api/v1/endpoints/util.go, `RepackSubsets`.
 */
export function toSubsets(reachable: readonly ReachableAddress[]): readonly EndpointSubset[] {
  const byPort = new Map<string, { readonly port: EndpointPort | undefined; readonly members: Map<string, ReachableAddress> }>();
  for (const each of reachable) {
    for (const port of each.ports.length === 0 ? [undefined] : each.ports) {
      const key = JSON.stringify(port ?? null);
      const group = byPort.get(key) ?? { port, members: new Map<string, ReachableAddress>() };
      group.members.set(`${each.address.ip}/${each.address.targetRef?.uid ?? ""}`, each);
      byPort.set(key, group);
    }
  }
  const byMembers = new Map<string, { readonly ports: EndpointPort[]; readonly members: readonly ReachableAddress[] }>();
  for (const { port, members } of byPort.values()) {
    const key = [...members.keys()].toSorted().join();
    const group = byMembers.get(key) ?? { ports: [], members: [...members.values()] };
    if (port !== undefined) group.ports.push(port);
    byMembers.set(key, group);
  }
  return [...byMembers].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => subset(group));
}

function subset({
  ports,
  members,
}: {
  readonly ports: readonly EndpointPort[];
  readonly members: readonly ReachableAddress[];
}): EndpointSubset {
  const sorted = members.toSorted((a, b) => (a.address.ip < b.address.ip ? -1 : 1));
  const addresses = sorted.filter(({ isReady }) => isReady).map(({ address }) => address);
  const notReadyAddresses = sorted.filter(({ isReady }) => !isReady).map(({ address }) => address);
  return {
    ...(addresses.length === 0 ? {} : { addresses }),
    ...(notReadyAddresses.length === 0 ? {} : { notReadyAddresses }),
    ...(ports.length === 0 ? {} : { ports: ports.toSorted((a, b) => a.port - b.port || (a.name < b.name ? -1 : 1)).map(portOf) }),
  };
}

/** Unnamed ports have no name, unlike those of slices. */
function portOf({ name, ...port }: EndpointPort): EndpointPort {
  return (name === "" ? port : { name, ...port }) as EndpointPort;
}

/** Cuts the addresses down to {@link mostAddresses}, ready ones first. @returns `undefined` if they are not that many */
export function truncated(subsets: readonly EndpointSubset[]): readonly EndpointSubset[] | undefined {
  const count = (key: "addresses" | "notReadyAddresses"): number => subsets.reduce((sum, each) => sum + (each[key]?.length ?? 0), 0);
  const ready = count("addresses");
  if (ready + count("notReadyAddresses") <= mostAddresses) return undefined;
  let readyLeft = mostAddresses;
  let otherLeft = Math.max(0, mostAddresses - ready);
  return subsets.map(({ addresses = [], notReadyAddresses = [], ports }) => {
    const kept = addresses.slice(0, readyLeft);
    const keptOthers = notReadyAddresses.slice(0, otherLeft);
    readyLeft -= kept.length;
    otherLeft -= keptOthers.length;
    return {
      ...(kept.length === 0 ? {} : { addresses: kept }),
      ...(keptOthers.length === 0 ? {} : { notReadyAddresses: keptOthers }),
      ...(ports === undefined ? {} : { ports }),
    };
  });
}
