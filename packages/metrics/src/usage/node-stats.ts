import { SingleFlight } from "@virtual-kubelet/async";
import type { Clock } from "@virtual-kubelet/clock";
import type { ContainerStats, InterfaceStats, NodeStats, PodStats, StatsSummary } from "@virtual-kubelet/core";
import { rfc3339 } from "@virtual-kubelet/kubernetes";
import { UsageCounters } from "./usage-counters.ts";
import { podUsage, totalUsage } from "./usage-total.ts";

/** A {@link StatsSummary} with the node's stats and each pod's totals filled in. */
export interface FullStatsSummary extends StatsSummary {
  readonly node: NodeStats;
}

/** Options of a reader of node stats. */
export interface NodeStatsReaderOptions {
  readonly nodeName: string;
  /** Reads the provider's stats, such as `NodeAccess.getStatsSummary`. */
  readonly getStatsSummary: (signal: AbortSignal) => Promise<StatsSummary>;
  readonly clock: Clock;
}

/**
 * Reads the stats of a node's pods and computes the totals that the provider leaves out. Concurrent readers share one call of the provider.
 *
 * CPU time of the node and of each pod is the sum over all containers since the reader was created, including those that no longer exist,
 * because scrapers treat a decreasing counter as a restart. For the same reason the counter of a container never decreases.
 */
export class NodeStatsReader {
  readonly #options: NodeStatsReaderOptions;
  readonly #startTime: string;
  readonly #counters = new UsageCounters();
  readonly #reads = new SingleFlight<FullStatsSummary>();

  constructor(options: NodeStatsReaderOptions) {
    this.#options = options;
    this.#startTime = rfc3339(options.clock.now());
  }

  /** @throws what the provider throws; `signal.reason` when aborted */
  read(signal: AbortSignal): Promise<FullStatsSummary> {
    return this.#reads.run("", async (inner) => this.#complete(await this.#options.getStatsSummary(inner)), signal);
  }

  #complete(summary: StatsSummary): FullStatsSummary {
    const pods = summary.pods.map((pod) => this.#completePod(pod));
    return { ...summary, node: this.#completeNode(summary, pods), pods };
  }

  #completePod(pod: PodStats): PodStats {
    const counted = this.#counters.count(pod, this.#options.clock.monotonic());
    const usage = podUsage(counted);
    const used = this.#counters.ofPod(pod.podRef.uid);
    const cpu = usage.cpu?.usageCoreNanoSeconds === undefined ? usage.cpu : { ...usage.cpu, usageCoreNanoSeconds: used };
    return { ...counted, ...usage, cpu };
  }

  #completeNode({ node, incomplete }: StatsSummary, pods: readonly PodStats[]): NodeStats {
    const time = rfc3339(this.#options.clock.now());
    const total = totalUsage(pods);
    const used = this.#counters.total(this.#options.clock.monotonic());
    // Without pods the usage is 0. With pods that the provider does not measure, it is unknown, and an old counter would look like idleness.
    const isIdle = pods.length === 0 && incomplete === undefined;
    const hasCpu = isIdle || (used !== undefined && (incomplete === undefined || total.cpu !== undefined));
    return {
      nodeName: this.#options.nodeName,
      startTime: this.#startTime,
      ...(hasCpu && { cpu: { time, usageNanoCores: 0, ...total.cpu, usageCoreNanoSeconds: used ?? 0 } }),
      ...((isIdle || total.memory) && { memory: { time, usageBytes: 0, workingSetBytes: 0, ...total.memory } }),
      ...(total.swap && { swap: total.swap }),
      ...node,
    };
  }
}

/** The summary for a kubelet's `/stats/summary`, without the fields that only `/metrics/cadvisor` shows. */
export function kubeletSummary({ node, pods }: FullStatsSummary): Pick<FullStatsSummary, "node" | "pods"> {
  const { machine: _machine, cgroup: _nodeCgroup, systemContainers, ...shown } = node;
  return {
    node: { ...shown, ...withoutPackets(node), ...(systemContainers && { systemContainers: systemContainers.map(withoutCgroup) }) },
    pods: pods.map(({ cgroup: _cgroup, ...pod }) => ({
      ...pod,
      ...withoutPackets(pod),
      containers: pod.containers.map(withoutCgroup),
    })),
  };
}

/**
 * The summary reduced to CPU, memory and swap, for `?only_cpu_and_memory=true`.
 *
 * Source: kubernetes v1.36.3 pkg/kubelet/server/stats/summary.go.
 */
export function cpuAndMemoryOnly({ node, pods }: FullStatsSummary): FullStatsSummary {
  const { nodeName, startTime, systemContainers } = node;
  return {
    node: { nodeName, startTime, ...usageOf(node), ...(systemContainers && { systemContainers: systemContainers.map(containerUsage) }) },
    pods: pods.map((pod) => ({
      podRef: pod.podRef,
      startTime: pod.startTime,
      containers: pod.containers.map(containerUsage),
      ...usageOf(pod),
    })),
  };
}

function withoutCgroup({ cgroup: _cgroup, ...container }: ContainerStats): ContainerStats {
  return container;
}

function withoutPackets({ network }: Pick<PodStats, "network">): Pick<PodStats, "network"> {
  if (!network) return {};
  const interfaces = network.interfaces?.map(bytesAndErrors);
  return { network: { time: network.time, ...bytesAndErrors(network), ...(interfaces && { interfaces }) } };
}

function bytesAndErrors({ name, rxBytes, rxErrors, txBytes, txErrors }: InterfaceStats): InterfaceStats {
  return { name, rxBytes, rxErrors, txBytes, txErrors };
}

function containerUsage(container: ContainerStats): ContainerStats {
  return { name: container.name, startTime: container.startTime, ...usageOf(container) };
}

function usageOf({ cpu, memory, swap }: Pick<ContainerStats, "cpu" | "memory" | "swap">): Pick<ContainerStats, "cpu" | "memory" | "swap"> {
  return { ...(cpu && { cpu }), ...(memory && { memory }), ...(swap && { swap }) };
}
