import { SingleFlight } from "@virtual-kubelet/async";
import type { Clock } from "@virtual-kubelet/clock";
import type { ContainerStats, InterfaceStats, NodeStats, PodStats, StatsSummary } from "@virtual-kubelet/core";
import { rfc3339 } from "@virtual-kubelet/kubernetes";
import { UsageCounters } from "./usage-counters.ts";
import { podUsage, totalUsage } from "./usage-total.ts";

/** A {@link StatsSummary} with nothing left to be made up: the node is there, and each pod has its totals. */
export interface FullStatsSummary extends StatsSummary {
  readonly node: NodeStats;
}

/** What a {@link NodeStatsReader} reads. */
export interface NodeStatsReaderOptions {
  readonly nodeName: string;
  /** Asks the provider, such as `NodeAccess.getStatsSummary`. */
  readonly getStatsSummary: (signal: AbortSignal) => Promise<StatsSummary>;
  readonly clock: Clock;
}

/**
 * Reads what a node's pods use, and makes up the totals that the provider leaves out. Those who ask at the same time
 * share one call to the provider.
 *
 * Processor time of the node and of each pod is that of all containers since the reader was made, those that are gone included:
 * who scrapes counters takes one that falls for a restart. For the same reason a container's counter never falls.
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
    return { ...summary, node: this.#completeNode(summary.node, pods), pods };
  }

  #completePod(pod: PodStats): PodStats {
    const counted = this.#counters.count(pod, this.#options.clock.monotonic());
    const usage = podUsage(counted);
    const used = this.#counters.ofPod(pod.podRef.uid);
    const cpu = usage.cpu?.usageCoreNanoSeconds === undefined ? usage.cpu : { ...usage.cpu, usageCoreNanoSeconds: used };
    return { ...counted, ...usage, cpu };
  }

  #completeNode(node: NodeStats | undefined, pods: readonly PodStats[]): NodeStats {
    const time = rfc3339(this.#options.clock.now());
    const total = totalUsage(pods);
    const used = this.#counters.total(this.#options.clock.monotonic());
    // Without pods nothing is used. With pods that nobody measures it is not known what is, and a figure would be invented.
    const isIdle = pods.length === 0;
    const hasCpu = isIdle || used !== undefined;
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

/** The summary as a kubelet's `/stats/summary` has it: without what `/metrics/cadvisor` alone shows. */
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
 * The summary with nothing but processor, memory and swap, as `?only_cpu_and_memory=true` asks for it.
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
