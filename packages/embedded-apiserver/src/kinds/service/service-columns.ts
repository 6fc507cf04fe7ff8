import type { ApiObject, Column } from "../kind.ts";
import { ageColumn, nameColumn } from "../columns/columns.ts";
import { formatLabels } from "../../selectors/label-selector-text.ts";
import type { ServiceSpec, ServiceStatus } from "./service-fields.ts";

function externalIpCell(service: ApiObject): string {
  const { type, externalIPs = [], externalName }: ServiceSpec = service["spec"];
  const { loadBalancer }: ServiceStatus = service["status"];
  switch (type) {
    case "ExternalName":
      return externalName ?? "";
    case "LoadBalancer": {
      const ingress = (loadBalancer.ingress ?? []).map(({ ip, hostname }) => ip ?? hostname ?? "").filter((address) => address !== "");
      const addresses = [...[...new Set(ingress)].toSorted(), ...externalIPs];
      return addresses.length === 0 ? "<pending>" : addresses.join(",");
    }
    default:
      return externalIPs.length === 0 ? "<none>" : externalIPs.join(",");
  }
}

function portsCell(service: ApiObject): string {
  const { ports = [] }: ServiceSpec = service["spec"];
  const texts = ports.map(({ port, nodePort, protocol }) => (nodePort ? `${port}:${nodePort}/${protocol}` : `${port}/${protocol}`));
  return texts.length === 0 ? "<none>" : texts.join(",");
}

/** Source: Kubernetes v1.36.3 pkg/printers/internalversion/printers.go, printService. */
export const serviceColumns: readonly Column[] = [
  nameColumn,
  { name: "Type", type: "string", description: "type determines how the Service is exposed.", cell: (service) => service["spec"].type },
  {
    name: "Cluster-IP",
    type: "string",
    description: "clusterIP is the IP address of the service and is usually assigned randomly.",
    cell: (service) => service["spec"].clusterIPs?.[0] ?? "<none>",
  },
  {
    name: "External-IP",
    type: "string",
    description: "externalIPs is a list of IP addresses for which nodes in the cluster will also accept traffic for this service.",
    cell: externalIpCell,
  },
  { name: "Port(s)", type: "string", description: "The list of ports that are exposed by this service.", cell: portsCell },
  ageColumn,
  {
    name: "Selector",
    type: "string",
    description: "Route service traffic to pods with label keys and values matching this selector.",
    wide: true,
    cell: (service) => formatLabels(service["spec"].selector),
  },
];
