import type { Container, DeepReadonly, Pod } from "@virtual-kubelet/core";
import type { NomadNetwork } from "../api/types.ts";
import { containersOf } from "./pod-content.ts";
import { portsToMap, probedPortLabel } from "./probed-ports.ts";
import type { JobSettings } from "./settings.ts";

/** The label of a container's port on the host: environment variables are named after it. */
function portLabel({
  hostPort = 0,
  protocol = "TCP",
}: {
  readonly hostPort?: number | undefined;
  readonly protocol?: string | undefined;
}): string {
  return `p${hostPort}_${protocol.toLowerCase()}`;
}

/** Labels of the client's ports that lead to the container's. */
export function portLabels(pod: DeepReadonly<Pod>, container: DeepReadonly<Container>, { network }: JobSettings): readonly string[] {
  const hostPorts = (container.ports ?? []).filter(({ hostPort }) => Boolean(hostPort)).map(portLabel);
  // In a network of the group's own, Nomad maps ports by itself.
  return network === "task" ? [...hostPorts, ...portsToMap(pod, container).map(probedPortLabel)] : hostPorts;
}

/** The network of a pod's group; none where containers have one each, or the host's. */
export function groupNetworks(pod: DeepReadonly<Pod>, { network }: JobSettings): Pick<{ Networks?: readonly NomadNetwork[] }, "Networks"> {
  const { hostname, dnsConfig, dnsPolicy } = pod.spec ?? {};
  const ports = containersOf(pod).flatMap(({ ports: each = [] }) => each.filter(({ hostPort }) => Boolean(hostPort)));
  const reserved = ports.map((port) => ({ Label: portLabel(port), Value: port.hostPort ?? 0, To: port.containerPort }));
  const isMapped = network === "task" || network === "bridge";
  const probed = isMapped ? [...new Set(containersOf(pod).flatMap((container) => portsToMap(pod, container)))] : [];
  const allPorts = {
    ...(reserved.length > 0 && { ReservedPorts: reserved }),
    ...(probed.length > 0 && { DynamicPorts: probed.map((port) => ({ Label: probedPortLabel(port), To: port })) }),
  };
  if (network === "task" || network === "host")
    return Object.keys(allPorts).length > 0 ? { Networks: [{ Mode: "host", ...allPorts }] } : {};
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
        ...allPorts,
      },
    ],
  };
}
