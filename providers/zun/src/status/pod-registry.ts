import type { Clock } from "@virtual-kubelet/clock";
import type { ProviderPod, ProviderPodStatus } from "@virtual-kubelet/core";
import type { RunningContainer } from "@virtual-kubelet/pod-runtime/probes";
import type { PodProbing } from "../probes/pod-probing.ts";
import { zunTime } from "../zun/zun-objects.ts";
import type { Observation } from "./observation.ts";
import { containerIdOf, toPodStatus } from "./pod-status.ts";
import { nextRecord, type RunRecord } from "./run-record.ts";

/** Probing of the registered pods. */
export type RegistryProbing = Pick<PodProbing, "watch" | "standingOf" | "stop">;

/** Maximum number of pods that are remembered as gone, so that memory stays bounded. */
const maxGone = 10_000;

/** What is known of one pod. */
interface Entry {
  readonly observed: Observation;
  readonly records: ReadonlyMap<string, RunRecord>;
}

/** The node's pods with their last known state, and the starts, ends and restarts that Zun does not keep. */
export class PodRegistry {
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();
  readonly #ending = new Set<string>();
  /** UUIDs in Zun of pods that are gone, by the pods' UIDs. */
  readonly #gone = new Map<string, string>();
  readonly #probing: RegistryProbing;

  /** @param probing - probes the running containers */
  constructor(clock: Clock, probing: RegistryProbing = noProbing) {
    this.#clock = clock;
    this.#probing = probing;
  }

  /** Takes in an observation of a pod. */
  note(observed: Observation): void {
    const { uid } = observed.labels.ref;
    const known = this.#entries.get(uid);
    const records = new Map(known?.observed.uuid === observed.uuid ? known.records : []);
    const now = new Date(this.#clock.now()).toISOString().replace(/\.\d+Z$/, "Z");
    const times = { createdAt: zunTime(observed.createdAt) ?? now, now };
    const { containers, initContainers } = observed.labels;
    for (const [names, members, isInit] of [
      [containers, observed.members, false],
      [initContainers, observed.initMembers, true],
    ] as const)
      for (const [index, name] of names.entries()) {
        const member = members[index];
        if (member) records.set(name, nextRecord(records.get(name), member, { ...times, isInit }));
      }
    this.#entries.set(uid, { observed, records });
    this.#probe(uid);
  }

  /** Marks the pod as being deleted, so that no ended container is expected to restart. */
  noteEnding(uid: string): void {
    this.#ending.add(uid);
    this.#probe(uid);
  }

  /** Removes a pod that is gone. */
  forget(uid: string): void {
    this.#gone.set(uid, this.lastUuid(uid) ?? "");
    const [oldest] = this.#gone.keys();
    if (this.#gone.size > maxGone && oldest !== undefined) this.#gone.delete(oldest);
    this.#entries.delete(uid);
    this.#probing.stop(uid);
    this.#ending.delete(uid);
  }

  /** Last observation of the pod. */
  observed(uid: string): Observation | undefined {
    return this.#entries.get(uid)?.observed;
  }

  /** UUID of the pod's container or capsule, also after the pod is gone. Empty if it was never known; `undefined` for an unknown pod. */
  lastUuid(uid: string): string | undefined {
    return this.#entries.get(uid)?.observed.uuid ?? this.#gone.get(uid);
  }

  /** Last observations of all pods. */
  all(): readonly Observation[] {
    return [...this.#entries.values()].map(({ observed }) => observed);
  }

  /** What is known of a container's runs. */
  record(uid: string, container: string): RunRecord | undefined {
    return this.#entries.get(uid)?.records.get(container);
  }

  /** The pod's status as known; a new object each time. */
  status(uid: string): ProviderPodStatus | undefined {
    const entry = this.#entries.get(uid);
    if (!entry) return undefined;
    return toPodStatus(entry.observed, {
      recordOf: (name) => entry.records.get(name),
      standingOf: (name) => this.#probing.standingOf(uid, name),
      isEnding: this.#ending.has(uid),
    });
  }

  /** The pod as known. */
  pod(uid: string): ProviderPod | undefined {
    const entry = this.#entries.get(uid);
    const status = this.status(uid);
    if (!entry || !status) return undefined;
    const { labels, createdAt } = entry.observed;
    return { ref: labels.ref, owner: labels.owner, createdAt: zunTime(createdAt), status };
  }

  #probe(uid: string): void {
    const entry = this.#entries.get(uid);
    if (!entry) return;
    const { observed, records } = entry;
    const isStopping = this.#ending.has(uid);
    const running = observed.labels.containers.flatMap((name, index): RunningContainer[] => {
      const member = observed.members[index];
      const record = records.get(name);
      if (member?.status !== "Running" || !record) return [];
      const containerID = containerIdOf(member);
      return [{ name, id: instanceId(observed, name, record), containerID, startedAtMs: Date.parse(record.startedAt), isStopping }];
    });
    this.#probing.watch({ observed, running });
  }
}

/** Identifies one run of a container. */
export function instanceId({ uuid }: Pick<Observation, "uuid">, container: string, record: RunRecord | undefined): string {
  return `${uuid}/${container}/${record?.restarts ?? 0}`;
}

const noProbing: RegistryProbing = { watch() {}, standingOf: () => undefined, stop() {} };
