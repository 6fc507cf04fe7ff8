import type { ContainerStats, NetworkStats, NodeStats, PodStats, StatsSummary, VolumeStats } from "@virtual-kubelet/core";
import { rfc3339 } from "@virtual-kubelet/kubernetes";
import type { CgroupUsage } from "../cgroup/cgroup-figures.ts";
import { ephemeralStorage } from "./ephemeral-storage.ts";
import type { RegisteredPod } from "./pod-registry.ts";

/** Measurements of a pod so far. */
export interface PodDraft {
  /** Names of the running containers. */
  readonly running: readonly string[];
  /** By name. */
  readonly containers: Map<string, ContainerStats>;
  /** Usage of the pod's own cgroup. */
  usage?: CgroupUsage | undefined;
  network?: NetworkStats | undefined;
  volume?: readonly VolumeStats[] | undefined;
}

/** The previous summary, by pod. */
interface Before {
  readonly node?: NodeStats | undefined;
  readonly pod?: PodStats | undefined;
}

/** A summary that is being measured. */
export class StatsDraft {
  readonly pods: readonly RegisteredPod[];
  node: NodeStats | undefined;
  /** Failed measurements, with their reasons. */
  readonly failures: string[] = [];
  readonly #drafts = new Map<string, PodDraft>();

  constructor(pods: readonly RegisteredPod[]) {
    this.pods = pods;
  }

  /** Adds a pod. Pods that were not added have no figures. */
  begin(uid: string, running: readonly string[]): PodDraft {
    const draft: PodDraft = { running, containers: new Map() };
    this.#drafts.set(uid, draft);
    return draft;
  }

  /** The complete summary. */
  finished(): StatsSummary {
    const [first] = this.failures;
    const incomplete = first === undefined ? undefined : `${this.failures.length} measurements failed, the first of them: ${first}`;
    return {
      node: this.node,
      pods: this.pods.flatMap((pod) => this.#pod(pod, {})),
      ...(incomplete !== undefined && { incomplete }),
    };
  }

  /** The measurements so far, with those of the previous summary for the rest. */
  unfinished(before: StatsSummary | undefined): StatsSummary {
    const old = new Map(before?.pods.map((pod) => [pod.podRef.uid, pod]));
    return {
      node: this.node ?? before?.node,
      pods: this.pods.flatMap((pod) => this.#pod(pod, { node: before?.node, pod: old.get(pod.ref.uid) })),
      incomplete: "the measurement is still in progress",
    };
  }

  #pod({ ref, createdAtMs, worker }: RegisteredPod, before: Before): readonly PodStats[] {
    const draft = this.#drafts.get(ref.uid);
    if (!draft) return [];
    const containers = draft.running.flatMap(
      (name) => draft.containers.get(name) ?? before.pod?.containers.find((container) => container.name === name) ?? [],
    );
    const network = draft.network ?? before.pod?.network;
    const volume = draft.volume ?? before.pod?.volume;
    const nodeFs = (this.node ?? before.node)?.fs;
    const storage = nodeFs && ephemeralStorage(worker.state.desired.pod, { containers, volumes: volume ?? [], nodeFs });
    return [
      {
        podRef: ref,
        startTime: rfc3339(createdAtMs),
        containers,
        ...usageOf(draft.usage ?? before.pod),
        ...processStats(containers),
        ...(network && { network }),
        ...(volume?.length && { volume }),
        ...(storage && { "ephemeral-storage": storage }),
      },
    ];
  }
}

type Usage = Pick<PodStats, "cpu" | "memory" | "swap" | "io" | "cgroup">;

function usageOf(measured: Usage | undefined): Usage {
  const { cpu, memory, swap, io, cgroup } = measured ?? {};
  return { ...(cpu && { cpu }), ...(memory && { memory }), ...(swap && { swap }), ...(io && { io }), ...(cgroup && { cgroup }) };
}

function processStats(containers: readonly ContainerStats[]): Pick<PodStats, "process_stats"> {
  const counts = containers.flatMap(({ cgroup }) => cgroup?.processes ?? []);
  return counts.length > 0 ? { process_stats: { process_count: counts.reduce((sum, count) => sum + count, 0) } } : {};
}
