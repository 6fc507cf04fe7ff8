import type { DeepReadonly, Pod } from "@virtual-kubelet/core";
import type { NomadNetwork } from "../api/types.ts";
import { containersOf } from "./pod-content.ts";
import type { JobSettings } from "./settings.ts";

/** The label of a container's port on the host: environment variables are named after it. */
export function portLabel({
  hostPort = 0,
  protocol = "TCP",
}: {
  readonly hostPort?: number | undefined;
  readonly protocol?: string | undefined;
}): string {
  return `p${hostPort}_${protocol.toLowerCase()}`;
}

/** The network of a pod's group; none where containers have one each, or the host's. */
export function groupNetworks(pod: DeepReadonly<Pod>, { network }: JobSettings): Pick<{ Networks?: readonly NomadNetwork[] }, "Networks"> {
  const { hostname, dnsConfig, dnsPolicy } = pod.spec ?? {};
  const ports = containersOf(pod).flatMap(({ ports: each = [] }) => each.filter(({ hostPort }) => Boolean(hostPort)));
  const reserved = ports.map((port) => ({ Label: portLabel(port), Value: port.hostPort ?? 0, To: port.containerPort }));
  const ReservedPorts = reserved.length > 0 ? { ReservedPorts: reserved } : {};
  if (network === "task" || network === "host") return reserved.length > 0 ? { Networks: [{ Mode: "host", ...ReservedPorts }] } : {};
  const dns = dnsConfig ?? (dnsPolicy === "None" ? {} : undefined);
  return {
    Networks: [
      {
        Mode: network,
        ...(network !== "none" && { Hostname: hostname ?? (pod.metadata?.name ?? "").slice(0, 63) }),
        ...(dns && {
          DNS: {
            Servers: dns.nameservers ?? [],
            Searches: dns.searches ?? [],
            Options: (dns.options ?? []).map(({ name = "", value }) => (value === undefined ? name : `${name}:${value}`)),
          },
        }),
        ...ReservedPorts,
      },
    ],
  };
}
