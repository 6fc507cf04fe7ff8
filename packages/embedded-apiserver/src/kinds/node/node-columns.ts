import type { ApiObject, Column } from "../kind.ts";
import { ageColumn, nameColumn } from "../columns/columns.ts";
import type { NodeSpec, NodeStatus } from "./node-fields.ts";

function statusCell(node: ApiObject): string {
  const { unschedulable }: NodeSpec = node["spec"];
  const { conditions }: NodeStatus = node["status"];
  const ready = conditions?.find(({ type }) => type === "Ready");
  const status = ready === undefined ? "Unknown" : ready.status === "True" ? "Ready" : "NotReady";
  return unschedulable ? `${status},SchedulingDisabled` : status;
}

function rolesCell(node: ApiObject): string {
  const roles = Object.entries(node.metadata.labels ?? {}).flatMap(([key, value]) => {
    if (key.startsWith("node-role.kubernetes.io/")) return [key.slice("node-role.kubernetes.io/".length)];
    return key === "kubernetes.io/role" ? [value] : [];
  });
  const known = [...new Set(roles)].filter((role) => role !== "").toSorted();
  return known.length === 0 ? "<none>" : known.join(",");
}

function addressCell(type: string): (node: ApiObject) => string {
  return (node) => {
    const { addresses }: NodeStatus = node["status"];
    return addresses?.find((address) => address.type === type)?.address ?? "<none>";
  };
}

function kernelCell(node: ApiObject): string {
  const { kernelVersion, architecture }: NodeStatus["nodeInfo"] = node["status"].nodeInfo;
  return `${kernelVersion || "<unknown>"}${architecture ? ` (${architecture})` : ""}`;
}

/** Source: Kubernetes v1.36.3 pkg/printers/internalversion/printers.go, printNode. */
export const nodeColumns: readonly Column[] = [
  nameColumn,
  { name: "Status", type: "string", description: "The status of the node", cell: statusCell },
  { name: "Roles", type: "string", description: "The roles of the node", cell: rolesCell },
  ageColumn,
  {
    name: "Version",
    type: "string",
    description: "Kubelet Version reported by the node.",
    cell: (node) => node["status"].nodeInfo.kubeletVersion,
  },
  {
    name: "Internal-IP",
    type: "string",
    description:
      "List of addresses reachable to the node. Queried from cloud provider, if available. More info: https://kubernetes.io/docs/reference/node/node-status/#addresses Note: This field is declared as mergeable, but the merge key is not sufficiently unique, which can cause data corruption when it is merged. Callers should instead use a full-replacement patch. See https://pr.k8s.io/79391 for an example. Consumers should assume that addresses can change during the lifetime of a Node. However, there are some exceptions where this may not be possible, such as Pods that inherit a Node's address in its own status or consumers of the downward API (status.hostIP).",
    wide: true,
    cell: addressCell("InternalIP"),
  },
  {
    name: "External-IP",
    type: "string",
    description:
      "List of addresses reachable to the node. Queried from cloud provider, if available. More info: https://kubernetes.io/docs/reference/node/node-status/#addresses Note: This field is declared as mergeable, but the merge key is not sufficiently unique, which can cause data corruption when it is merged. Callers should instead use a full-replacement patch. See https://pr.k8s.io/79391 for an example. Consumers should assume that addresses can change during the lifetime of a Node. However, there are some exceptions where this may not be possible, such as Pods that inherit a Node's address in its own status or consumers of the downward API (status.hostIP).",
    wide: true,
    cell: addressCell("ExternalIP"),
  },
  {
    name: "OS-Image",
    type: "string",
    description: "OS Image reported by the node from /etc/os-release (e.g. Debian GNU/Linux 7 (wheezy)).",
    wide: true,
    cell: (node) => node["status"].nodeInfo.osImage || "<unknown>",
  },
  {
    name: "Kernel-Version",
    type: "string",
    description: "Kernel Version reported by the node from 'uname -r' (e.g. 3.16.0-0.bpo.4-amd64).",
    wide: true,
    cell: kernelCell,
  },
  {
    name: "Container-Runtime",
    type: "string",
    description: "ContainerRuntime Version reported by the node through runtime remote API (e.g. containerd://1.4.2).",
    wide: true,
    cell: (node) => node["status"].nodeInfo.containerRuntimeVersion || "<unknown>",
  },
];
