import type { Clock } from "@virtual-kubelet/clock";
import type { ProviderPod, ProviderPodStatus } from "@virtual-kubelet/core";
import type { RunningContainer } from "@virtual-kubelet/pod-runtime/probes";
import type { PodProbing } from "../probes/pod-probing.ts";
import { zunTime } from "../zun/zun-objects.ts";
import type { Observation } from "./observation.ts";
import { containerIdOf, toPodStatus } from "./pod-status.ts";
import { nextRecord, type RunRecord } from "./run-record.ts";

/** What is told of the pods that the registry knows. */
export type RegistryProbing = Pick<PodProbing, "watch" | "standingOf" | "stop">;

/** Maximum number of pods that are remembered as gone, so that memory stays bounded. */
const maxGone = 10_000;

/** What is known of one pod. */
interface Entry {
  readonly observed: Observation;
  readonly records: ReadonlyMap<string, RunRecord>;
}

/** What is known of the pods in Zun: what was said last, and what Zun does not keep (starts, ends, restarts). */
export class PodRegistry {
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();
  readonly #ending = new Set<string>();
  /** UUIDs of what the pods that are gone were in Zun, by the pods' UIDs. */
  readonly #gone = new Map<string, string>();
  readonly #probing: RegistryProbing;

  /** @param probing - probes what the registry says that runs */
  constructor(clock: Clock, probing: RegistryProbing = noProbing) {
    this.#clock = clock;
    this.#probing = probing;
  }

  /** Notes what Zun said. */
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

  /** The pod is being deleted: what ends now is not started again. */
  noteEnding(uid: string): void {
    this.#ending.add(uid);
    this.#probe(uid);
  }

  /** The pod is gone. */
  forget(uid: string): void {
    this.#gone.set(uid, this.lastUuid(uid) ?? "");
    const [oldest] = this.#gone.keys();
    if (this.#gone.size > maxGone && oldest !== undefined) this.#gone.delete(oldest);
    this.#entries.delete(uid);
    this.#probing.stop(uid);
    this.#ending.delete(uid);
  }

  /** What Zun said last of the pod. */
  observed(uid: string): Observation | undefined {
    return this.#entries.get(uid)?.observed;
  }

  /** UUID of the pod's container or capsule, also of a pod that is gone, empty where it was never told; `undefined` for a pod that was never known. */
  lastUuid(uid: string): string | undefined {
    return this.#entries.get(uid)?.observed.uuid ?? this.#gone.get(uid);
  }

  /** What Zun said last, of all pods. */
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

/** Tells a container's run from those before. */
export function instanceId({ uuid }: Pick<Observation, "uuid">, container: string, record: RunRecord | undefined): string {
  return `${uuid}/${container}/${record?.restarts ?? 0}`;
}

const noProbing: RegistryProbing = { watch() {}, standingOf: () => undefined, stop() {} };
