import type { Clock, ProviderPod, ProviderPodStatus } from "@virtual-kubelet/core";
import { zunTime } from "../zun/zun-objects.ts";
import type { Observation } from "./observation.ts";
import { toPodStatus } from "./pod-status.ts";
import { nextRecord, type RunRecord } from "./run-record.ts";

/** What is known of one pod. */
interface Entry {
  readonly observed: Observation;
  readonly records: ReadonlyMap<string, RunRecord>;
}

/** What is known of the pods in Zun: what was said last, and what Zun does not keep (starts, ends, restarts). */
export class PodBook {
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();
  readonly #ending = new Set<string>();

  constructor(clock: Clock) {
    this.#clock = clock;
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
  }

  /** The pod is being deleted: what ends now is not started again. */
  noteEnding(uid: string): void {
    this.#ending.add(uid);
  }

  /** The pod is gone. */
  forget(uid: string): void {
    this.#entries.delete(uid);
    this.#ending.delete(uid);
  }

  /** What Zun said last of the pod. */
  observed(uid: string): Observation | undefined {
    return this.#entries.get(uid)?.observed;
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
    return entry && toPodStatus(entry.observed, (name) => entry.records.get(name), this.#ending.has(uid));
  }

  /** The pod as known. */
  pod(uid: string): ProviderPod | undefined {
    const entry = this.#entries.get(uid);
    const status = this.status(uid);
    if (!entry || !status) return undefined;
    const { labels, createdAt } = entry.observed;
    return { ref: labels.ref, owner: labels.owner, createdAt: zunTime(createdAt), status };
  }
}
