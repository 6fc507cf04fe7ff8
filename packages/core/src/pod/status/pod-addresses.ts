import { isIPv4, isIPv6 } from "node:net";
import type { DeepReadonly, Pod, PodStatus } from "@virtual-kubelet/kube-client";
import type { ProviderPodStatus } from "../../provider/pod-lifecycle.ts";

/** The addresses of a pod's status. */
export type PodAddresses = Pick<PodStatus, "podIP" | "podIPs" | "hostIP" | "hostIPs">;

export interface PodAddressesInput {
  readonly pod: DeepReadonly<Pod>;
  readonly reported: ProviderPodStatus;
  /** The node's addresses, the main one first. */
  readonly hostIPs: readonly string[];
  /** Whether a container of the pod runs. */
  readonly isRunning: boolean;
}

/**
 * Returns the pod's addresses: the reported ones, at most one of each family; `podIP` first, otherwise the node's family. A pod
 * on the host's network without reported addresses has the host's. The host's are the reported ones, otherwise the node's. A pod without a running container keeps its address.
 * Source: generateAPIPodStatus and sortPodIPs in kubernetes v1.36.3 pkg/kubelet/kubelet_pods.go.
 */
export function podAddresses({ pod, reported, hostIPs, isRunning }: PodAddressesInput): PodAddresses {
  const told = ipsOf({ podIP: reported.hostIP, podIPs: reported.hostIPs });
  const host = told.length > 0 ? told : onePerFamily(hostIPs);
  const own = reportedIPs(reported, host[0]);
  const stored = isRunning ? [] : ipsOf(pod.status ?? {});
  const [podIPs = []] = [own, pod.spec?.hostNetwork ? host : [], stored].filter((ips) => ips.length > 0);
  return {
    hostIP: host[0],
    hostIPs: asEntries(host),
    podIP: podIPs[0],
    podIPs: asEntries(podIPs),
  };
}

/** Returns the addresses of a status as plain strings, `podIP` first; one of each family, without malformed ones. */
export function ipsOf({ podIP, podIPs }: Pick<DeepReadonly<PodStatus>, "podIP" | "podIPs">): string[] {
  return onePerFamily([podIP, ...(podIPs ?? []).map((entry) => entry.ip)]);
}

/**
 * Returns the first address of each family, as Go writes it: the API server refuses a second one, compares text, and stores
 * IPv6 in its shortest form.
 */
export function onePerFamily(addresses: readonly (string | undefined)[]): string[] {
  const chosen: string[] = [];
  for (const address of addresses) {
    const ip = canonicalIP(address);
    if (ip !== undefined && !chosen.some((other) => isIPv4(other) === isIPv4(ip))) chosen.push(ip);
  }
  return chosen;
}

function reportedIPs(reported: ProviderPodStatus, hostIP: string | undefined): string[] {
  const ips = ipsOf(reported);
  if (canonicalIP(reported.podIP) !== undefined || hostIP === undefined) return ips;
  return ips.toSorted((a, b) => Number(isIPv4(b) === isIPv4(hostIP)) - Number(isIPv4(a) === isIPv4(hostIP)));
}

/** Returns an IP address as Go writes it; `undefined` for anything else. */
export function canonicalIP(address: unknown): string | undefined {
  if (typeof address !== "string" || address.includes("%")) return undefined;
  if (isIPv4(address)) return address;
  if (!isIPv6(address)) return undefined;
  const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(canonical);
  if (!mapped) return canonical;
  const [high, low] = [parseInt(mapped[1] ?? "", 16), parseInt(mapped[2] ?? "", 16)];
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

function asEntries(ips: readonly string[]): { ip: string }[] | undefined {
  return ips.length === 0 ? undefined : ips.map((ip) => ({ ip }));
}
