import type { NodeDescription } from "@virtual-kubelet/core";
import { formatQuantity, parseQuantity } from "@virtual-kubelet/kubernetes";
import type { NomadNode } from "../api/types.ts";
import type { NomadConfig } from "../config.ts";
import type { Architectures } from "./architectures.ts";

/** MHz of a CPU if no client reports it. */
const usualMhz = 1000;

/** Clients that pods of this configuration can be placed on. */
export function usableClients(
  nodes: readonly NomadNode[],
  { driver, datacenters, nodePool = "default" }: NomadConfig,
): readonly NomadNode[] {
  return nodes.filter(
    (node) =>
      node.Status === "ready" &&
      node.SchedulingEligibility === "eligible" &&
      !node.Drain &&
      datacenters.some((pattern) => matches(pattern, node.Datacenter)) &&
      (nodePool === "all" || (node.NodePool ?? "default") === nodePool) &&
      (node.Drivers?.[driver]?.Healthy ?? false),
  );
}

/** MHz that one CPU is on these clients. */
export function mhzPerCoreOf(clients: readonly NomadNode[], { mhzPerCore }: Pick<NomadConfig, "mhzPerCore">): number {
  if (mhzPerCore !== undefined) return mhzPerCore;
  const cores = sum(clients, ({ NodeResources }) => NodeResources?.Cpu?.TotalCpuCores);
  return cores === 0 ? usualMhz : sum(clients, ({ NodeResources }) => NodeResources?.Cpu?.CpuShares) / cores;
}

/** Describes the node that stands for all clients. */
export function describeNode(nodes: readonly NomadNode[], config: NomadConfig, architectures: Pick<Architectures, "of">): NodeDescription {
  const clients = usableClients(nodes, config);
  const mhz = mhzPerCoreOf(clients, config);
  const { fraction, pods, ...set } = config.capacity;
  const cpuOf = (each: readonly NomadNode[]): number => free(each, "Cpu", "CpuShares") / mhz;
  const memoryOf = (each: readonly NomadNode[]): number => free(each, "Memory", "MemoryMB");
  const gpus = sum(clients, ({ NodeResources }) =>
    (NodeResources?.Devices ?? []).reduce(
      (count, { Vendor, Type, Instances }) => count + (Vendor === "nvidia" && Type === "gpu" ? (Instances?.length ?? 0) : 0),
      0,
    ),
  );
  const largest = {
    cpu: Math.max(0, ...clients.map((client) => cpuOf([client]))),
    memory: Math.max(0, ...clients.map((client) => memoryOf([client]))),
  };
  const machines = countedArchitectures(clients, architectures);
  return {
    capacity: {
      cpu: set.cpu ?? canonical(`${Math.floor(cpuOf(clients) * fraction * 1000)}m`),
      memory: set.memory ?? canonical(`${Math.floor(memoryOf(clients) * fraction)}Mi`),
      "ephemeral-storage": set.ephemeralStorage ?? canonical(`${Math.floor(free(clients, "Disk", "DiskMB") * fraction)}Mi`),
      pods,
      ...(gpus > 0 && { "nvidia.com/gpu": String(gpus) }),
    },
    operatingSystem: "linux",
    architecture: machines[0]?.architecture,
    // A pod runs on one client: a pod larger than each client waits for ever, whatever the sum.
    annotations: {
      "nomad.hashicorp.com/clients": String(clients.length),
      "nomad.hashicorp.com/largest-client": `cpu=${Math.floor(largest.cpu * 1000)}m,memory=${Math.floor(largest.memory)}Mi`,
      // A node has one architecture: a pod that asks for it is kept off clients with another.
      ...(machines.length > 1 && {
        "nomad.hashicorp.com/architectures": machines.map(({ architecture, count }) => `${architecture}=${count}`).join(","),
      }),
    },
    containerRuntimeVersion: `nomad://${clients[0]?.Version ?? nodes[0]?.Version ?? "unknown"}`,
    providerID: `nomad://${config.region ?? "default"}/${config.namespace}`,
  };
}

/** Architectures of the clients, most frequent first. */
function countedArchitectures(
  clients: readonly NomadNode[],
  architectures: Pick<Architectures, "of">,
): readonly { readonly architecture: string; readonly count: number }[] {
  const counts = new Map<string, number>();
  for (const client of clients) {
    const architecture = architectures.of(client);
    if (architecture !== undefined) counts.set(architecture, (counts.get(architecture) ?? 0) + 1);
  }
  const found = [...counts].map(([architecture, count]) => ({ architecture, count }));
  return found.toSorted((a, b) => b.count - a.count || (a.architecture < b.architecture ? -1 : 1));
}

function free(nodes: readonly NomadNode[], part: "Cpu" | "Memory" | "Disk", field: string): number {
  const amount = (resources: NomadNode["NodeResources"] | NomadNode["ReservedResources"]): number =>
    (resources?.[part] as Readonly<Record<string, number>> | undefined)?.[field] ?? 0;
  return sum(nodes, ({ NodeResources, ReservedResources }) => amount(NodeResources) - amount(ReservedResources));
}

function sum(nodes: readonly NomadNode[], of: (node: NomadNode) => number | undefined): number {
  return nodes.reduce((total, node) => total + (of(node) ?? 0), 0);
}

function canonical(quantity: string): string {
  return formatQuantity(parseQuantity(quantity));
}

/** Whether a datacenter matches a name that may contain stars. */
function matches(pattern: string, name: string): boolean {
  const source = pattern.split("*").map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${source.join(".*")}$`).test(name);
}
