import type { Endpoint } from "@virtual-kubelet/pod-runtime/probes";
import type { Allocation } from "../api/types.ts";
import { mappedPort } from "../job/probed-ports.ts";
import type { PodShape } from "../job/pod-shape.ts";

/** What the way to a port follows from. */
export interface ReachedPod {
  readonly shape: Pick<PodShape, "network">;
  readonly allocation: Pick<Allocation, "AllocatedResources" | "NetworkStatus">;
  readonly clientAddress: string | undefined;
}

/**
 * Where a port of a pod is probed: at the client, under the port that leads to it, where the pod is in a network of the client's; at the
 * pod's own address elsewhere. `undefined` while it is not known.
 */
export function endpointOf({ shape, allocation, clientAddress }: ReachedPod, port: number): Endpoint | undefined {
  const { network } = shape;
  if (network === "host") return clientAddress === undefined ? undefined : { host: clientAddress, port };
  if (network === "bridge" || network === "task") {
    const mapped = mappedPort(allocation.AllocatedResources?.Shared?.Ports ?? [], port);
    const host = mapped?.HostIP && !isWildcard(mapped.HostIP) ? mapped.HostIP : clientAddress;
    return mapped && host !== undefined ? { host, port: mapped.Value } : undefined;
  }
  const host = allocation.NetworkStatus?.Address || allocation.NetworkStatus?.AddressIPv6;
  return host ? { host, port } : undefined;
}

function isWildcard(address: string): boolean {
  return address === "0.0.0.0" || address === "::";
}
