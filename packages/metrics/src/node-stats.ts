import { rfc3339, SharedCalls, type Clock } from "@virtual-kubelet/kube-client";
import type { ContainerStats, InterfaceStats, NodeStats, PodStats, StatsSummary } from "@virtual-kubelet/core";
import { instanceKey, podUsage, totalUsage } from "./usage-total.ts";

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
 * The node's processor time is that of all its containers since the reader was made, those that are gone included: who
 * scrapes counters takes one that falls for a restart. For the same reason a container's counter never falls.
 */
export class NodeStatsReader {
  readonly #options: NodeStatsReaderOptions;
  readonly #startTime: string;
  /** Core-nanoseconds by instance of a container, as last read. */
  #counters: ReadonlyMap<string, number> = new Map();
  /** Core-nanoseconds of the instances that are gone. */
  #ended = 0;
  readonly #reads = new SharedCalls<FullStatsSummary>();

  constructor(options: NodeStatsReaderOptions) {
    this.#options = options;
    this.#startTime = rfc3339(options.clock.now());
  }

  /** @throws what the provider throws; `signal.reason` when aborted */
  read(signal: AbortSignal): Promise<FullStatsSummary> {
    return this.#reads.run("", async (inner) => this.#complete(await this.#options.getStatsSummary(inner)), signal);
  }

  #complete(summary: StatsSummary): FullStatsSummary {
    const counters = new Map<string, number>();
    const pods = summary.pods.map((pod) => this.#completePod(pod, counters));
    for (const [key, value] of this.#counters) if (!counters.has(key)) this.#ended += value;
    this.#counters = counters;
    return { ...summary, node: this.#completeNode(summary.node, pods), pods };
  }

  #completePod(pod: PodStats, counters: Map<string, number>): PodStats {
    const containers = pod.containers.map((container) => {
      const usage = container.cpu?.usageCoreNanoSeconds;
      if (container.cpu === undefined || usage === undefined) return container;
      const key = instanceKey(pod, container);
      const counter = Math.max(usage, this.#counters.get(key) ?? 0);
      counters.set(key, counter);
      return counter === usage ? container : { ...container, cpu: { ...container.cpu, usageCoreNanoSeconds: counter } };
    });
    const counted: PodStats = { ...pod, containers };
    return { ...counted, ...podUsage(counted) };
  }

  #completeNode(node: NodeStats | undefined, pods: readonly PodStats[]): NodeStats {
    const time = rfc3339(this.#options.clock.now());
    const total = totalUsage(pods);
    const lived = [...this.#counters.values()].reduce((sum, value) => sum + value, this.#ended);
    // Without pods nothing is used. With pods that nobody measures it is not known what is, and a figure would be invented.
    const isIdle = pods.length === 0;
    const hasCpu = isIdle || this.#ended > 0 || this.#counters.size > 0;
    return {
      nodeName: this.#options.nodeName,
      startTime: this.#startTime,
      ...(hasCpu && { cpu: { time, usageNanoCores: 0, ...total.cpu, usageCoreNanoSeconds: lived } }),
      ...((isIdle || total.memory) && { memory: { time, usageBytes: 0, workingSetBytes: 0, ...total.memory } }),
      ...(total.swap && { swap: total.swap }),
      ...node,
    };
  }
}

/** The summary as a kubelet's `/stats/summary` has it: without what `/metrics/cadvisor` alone shows. */
export function kubeletSummary({ node, pods }: FullStatsSummary): Pick<FullStatsSummary, "node" | "pods"> {
  return {
    node: { ...node, ...withoutPackets(node) },
    pods: pods.map(({ cgroup: _cgroup, ...pod }) => ({
      ...pod,
      ...withoutPackets(pod),
      containers: pod.containers.map(({ cgroup: _containerCgroup, ...container }) => container),
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
