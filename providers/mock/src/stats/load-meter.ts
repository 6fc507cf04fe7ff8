import type { ContainerStats, PodStats, StatsSummary } from "@virtual-kubelet/core";
import type { Container, Instant } from "../container/container-state.ts";
import type { MockPod } from "../pod/mock-pod.ts";
import type { PodModel } from "../pod/pod-model.ts";
import { containerStats, cpuOf, loadLevelOf, podTraffic, type MeasuredRun } from "./stats.ts";

/** Memory usage of the node itself. */
const nodeMemoryBytes = 256 * 1024 ** 2;
/** CPU usage of the node itself, in billionths of a core. */
const nodeNanoCores = 20_000_000;

/** Generates stats of simulated pods: they vary with time, are reproducible per pod, and their counters never decrease. */
export class LoadMeter {
  readonly #nodeName: string;
  readonly #start: Instant;
  /** Core-nanoseconds of ended runs, so that the node's counter does not decrease. */
  #spent = 0;

  constructor(nodeName: string, start: Instant) {
    this.#nodeName = nodeName;
    this.#start = start;
  }

  /** Must be called before a pod changes. */
  note(pod: MockPod, next: PodModel): void {
    for (const container of pod.model.containers) {
      if (container.state.kind !== "running") continue;
      const after = next.containers.find(({ name }) => name === container.name);
      if (after?.state.kind === "running" && after.state.startedMs === container.state.startedMs) continue;
      const ranMs = (after?.state.kind === "exited" ? after.state.run.ranMs : after?.lastRun?.ranMs) ?? 0;
      this.#spent += cpuOf(toRun(pod, container, ranMs));
    }
  }

  /** Stats of the pods. @param time - current time, RFC 3339 with fractional seconds */
  summary(pods: readonly MockPod[], now: Instant, time: string): StatsSummary {
    const stats = pods.map((pod) => this.#podStats(pod, now, time)).filter((pod) => pod !== undefined);
    const sum = (figure: (container: ContainerStats) => number | undefined): number =>
      stats.reduce((total, pod) => total + pod.containers.reduce((of, container) => of + (figure(container) ?? 0), 0), 0);
    const ranMs = now.ms - this.#start.ms;
    const workingSetBytes = nodeMemoryBytes + sum(({ memory }) => memory?.workingSetBytes);
    return {
      node: {
        nodeName: this.#nodeName,
        startTime: this.#start.time,
        cpu: {
          time,
          usageNanoCores: nodeNanoCores + sum(({ cpu }) => cpu?.usageNanoCores),
          usageCoreNanoSeconds: Math.round((nodeNanoCores * ranMs) / 1000) + 1 + this.#spent + sum(({ cpu }) => cpu?.usageCoreNanoSeconds),
        },
        memory: { time, usageBytes: workingSetBytes, workingSetBytes },
      },
      pods: stats,
    };
  }

  #podStats(pod: MockPod, now: Instant, time: string): PodStats | undefined {
    const containers = pod.model.containers.flatMap((container) =>
      container.state.kind === "running"
        ? [containerStats(toRun(pod, container, Math.max(0, now.ms - container.state.startedMs)), time)]
        : [],
    );
    if (containers.length === 0) return undefined;
    const { ref, createdAt, createdMs } = pod;
    return {
      podRef: { name: ref.name, namespace: ref.namespace, uid: ref.uid },
      startTime: createdAt,
      containers,
      network: podTraffic(ref.uid, now.ms - createdMs, time),
    };
  }
}

function toRun({ ref: { uid } }: MockPod, { name, script, state }: Container, ranMs: number): MeasuredRun {
  const usual = loadLevelOf(uid, name);
  return {
    uid,
    container: name,
    startedAt: state.kind === "running" ? state.startedAt : "",
    ranMs,
    level: { nanoCores: script.cpuNanoCores ?? usual.nanoCores, memoryBytes: script.memoryBytes ?? usual.memoryBytes },
  };
}
