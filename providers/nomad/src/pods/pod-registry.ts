import type { Owner } from "@virtual-kubelet/core";
import type { IndexedList } from "../api/nomad-client.ts";
import type { ObjectReader } from "../api/object-reader.ts";
import type { Allocation, Evaluation, JobStub } from "../api/types.ts";
import { readJobMeta, type NamespaceOf, type PodAttempt } from "../job/job-meta.ts";
import type { PodShape } from "../job/pod-shape.ts";
import { lastEndOf, startErrorOf } from "../status/container-status.ts";
import { unplacedBecause } from "../status/placement.ts";
import { newPodEntry, type PodEntry } from "./pod-entry.ts";

/** State of the registry when lists were requested. */
export interface RegistryMark {
  /** Highest index seen of jobs, and of allocations. */
  readonly seen: SeenIndexes;
  readonly registered: ReadonlySet<PodEntry>;
}

interface SeenIndexes {
  readonly jobs: number;
  readonly allocations: number;
}

/** Changes found by a pair of lists. */
export interface RegistryChanges {
  readonly changed: readonly PodEntry[];
  /** Pods that Nomad no longer holds. They are still in the registry. */
  readonly gone: readonly PodEntry[];
  /** Pods missing from the lists of a Nomad whose indexes have fallen. Each has to be looked up. */
  readonly missing: readonly PodEntry[];
}

export interface PodRegistryOptions {
  readonly owner: Owner;
  readonly namespaceOf: NamespaceOf;
  readonly reader: Pick<ObjectReader, "skip">;
}

/** The pods of one node with their latest state in Nomad. Older reports change nothing. */
export class PodRegistry {
  readonly #byUid = new Map<string, PodEntry>();
  readonly #byJob = new Map<string, PodEntry>();
  readonly #options: PodRegistryOptions;
  #seen: SeenIndexes = { jobs: 0, allocations: 0 };

  constructor(options: PodRegistryOptions) {
    this.#options = options;
  }

  get entries(): readonly PodEntry[] {
    return [...this.#byUid.values()];
  }

  /** Marks the state before lists are requested; see {@link noteAll}. */
  mark(): RegistryMark {
    return { seen: this.#seen, registered: new Set(this.entries.filter(({ createIndex }) => createIndex > 0)) };
  }

  get(uid: string): PodEntry | undefined {
    return this.#byUid.get(uid);
  }

  /** @param namespace - Nomad's: a job of the same id in another namespace is somebody else's */
  byJob(jobId: string, namespace: string): PodEntry | undefined {
    const entry = this.#byJob.get(jobId);
    return entry && this.#options.namespaceOf(entry.shape.ref) === namespace ? entry : undefined;
  }

  /** Adds a pod that is about to be registered, so that no report about it is lost meanwhile. */
  expect(jobId: string, shape: PodShape, attempt?: PodAttempt): PodEntry {
    const entry = newPodEntry(jobId, shape, attempt);
    this.#byUid.set(shape.ref.uid, entry);
    this.#byJob.set(jobId, entry);
    return entry;
  }

  remove(entry: PodEntry): void {
    if (this.#byUid.get(entry.shape.ref.uid) !== entry) return;
    this.#byUid.delete(entry.shape.ref.uid);
    this.#byJob.delete(entry.jobId);
  }

  /** Takes in a job. @returns `undefined` for a job that is no pod of the node, or cannot be read */
  noteJob(job: JobStub): PodEntry | undefined {
    const meaning = readJobMeta(job, this.#options.owner, this.#options.namespaceOf);
    if (meaning.kind !== "pod" && meaning.why !== undefined) this.#options.reader.skip("job", job.ID, meaning.why);
    const known = this.byJob(job.ID, job.Namespace);
    const entry = known ?? (meaning.kind === "pod" ? this.expect(job.ID, meaning.shape, meaning.attempt) : undefined);
    if (!entry) return undefined;
    // A list may be older than the start in progress.
    if (meaning.kind === "pod" && meaning.attempt.after > entry.attempt.after) entry.attempt = meaning.attempt;
    if (entry.createIndex > job.CreateIndex) return entry;
    entry.createIndex = job.CreateIndex;
    entry.createdAt = job.SubmitTime ? new Date(job.SubmitTime / 1e6).toISOString() : entry.createdAt;
    entry.stopped ||= job.Stop ?? false;
    return entry;
  }

  /** Takes in an allocation from a list, a lookup or an event. @returns its pod, if that has changed */
  noteAllocation(allocation: Allocation): PodEntry | undefined {
    const entry = this.byJob(allocation.JobID, allocation.Namespace);
    if (!entry || allocation.CreateIndex < entry.createIndex) return undefined;
    this.#see({ jobs: 0, allocations: allocation.ModifyIndex });
    if (allocation.CreateIndex <= entry.attempt.after) {
      if (!entry.allocation) rememberEnds(entry, allocation);
      return undefined;
    }
    const known = isOfAttempt(entry.allocation, entry) ? entry.allocation : undefined;
    if (known && known.ID !== allocation.ID) {
      if (known.CreateIndex <= allocation.CreateIndex) {
        const isNews = !entry.hasReplacement;
        entry.hasReplacement = true;
        return isNews ? entry : undefined;
      }
      entry.hasReplacement = true;
    } else if (known && !isNews(known, allocation)) return undefined;
    // Lists leave out the network and its ports.
    const same = known?.ID === allocation.ID ? known : undefined;
    entry.allocation = {
      ...allocation,
      NetworkStatus: allocation.NetworkStatus ?? same?.NetworkStatus,
      AllocatedResources: allocation.AllocatedResources ?? same?.AllocatedResources,
    };
    entry.unplaced = undefined;
    rememberEnds(entry, allocation);
    return entry;
  }

  /** Takes in the scheduler's result for a job. @returns its pod, if that has changed */
  noteEvaluation(evaluation: Evaluation): PodEntry | undefined {
    const entry = this.byJob(evaluation.JobID, evaluation.Namespace);
    if (!entry || entry.allocation) return undefined;
    const because = unplacedBecause(evaluation);
    if (because === undefined || because === entry.unplaced) return undefined;
    entry.unplaced = because;
    return entry;
  }

  /**
   * Takes in all jobs and allocations of the node.
   *
   * @param mark - {@link mark} of the time when the lists were asked for. An index that is lower than one seen before that tells
   * that indexes have fallen: Nomad was restored, or begun anew.
   */
  noteAll(
    jobs: IndexedList<JobStub>,
    allocations: IndexedList<Allocation>,
    { seen, registered }: RegistryMark = this.mark(),
  ): RegistryChanges {
    const hasFallen = jobs.index < seen.jobs || allocations.index < seen.allocations;
    if (hasFallen) this.#beginAnew();
    this.#see({ jobs: jobs.index, allocations: allocations.index });
    const listed = new Set<PodEntry>();
    const changed = new Set<PodEntry>();
    for (const job of jobs.items) {
      const isNew = !this.byJob(job.ID, job.Namespace);
      const entry = this.noteJob(job);
      if (!entry) continue;
      listed.add(entry);
      if (isNew) changed.add(entry);
    }
    for (const allocation of allocations.items.toSorted((a, b) => a.CreateIndex - b.CreateIndex)) {
      const entry = this.noteAllocation(allocation);
      if (entry) changed.add(entry);
    }
    // An unreadable job may be the pod's.
    const isUnclear = ({ jobId }: PodEntry): boolean => jobs.skipped.some((id) => id === undefined || id === jobId);
    const unlisted = this.entries.filter((entry) => !listed.has(entry) && !isUnclear(entry) && registered.has(entry));
    // A job registered after the list is not in it.
    const gone = hasFallen ? [] : unlisted.filter(({ createIndex }) => createIndex <= jobs.index);
    return { changed: [...changed], gone, missing: hasFallen ? unlisted : [] };
  }

  #see({ jobs, allocations }: SeenIndexes): void {
    this.#seen = { jobs: Math.max(this.#seen.jobs, jobs), allocations: Math.max(this.#seen.allocations, allocations) };
  }

  /** Forgets all indexes, because they have fallen, as after a restore. */
  #beginAnew(): void {
    this.#seen = { jobs: 0, allocations: 0 };
    for (const entry of this.entries) {
      if (entry.createIndex > 0) entry.createIndex = 1;
      entry.attempt = { ...entry.attempt, after: 0 };
      if (entry.allocation) entry.allocation = { ...entry.allocation, CreateIndex: 0, ModifyIndex: 0 };
    }
  }
}

/** Whether an allocation is of the pod's current start, and not of one before. */
function isOfAttempt(allocation: Allocation | undefined, { attempt }: PodEntry): boolean {
  return allocation !== undefined && allocation.CreateIndex > attempt.after;
}

function rememberEnds({ remembered }: PodEntry, { TaskStates }: Allocation): void {
  for (const [name, task] of Object.entries(TaskStates ?? {})) {
    const end = (task.State === "dead" ? startErrorOf(task) : undefined) ?? lastEndOf(task);
    if (end) remembered.set(name, end);
  }
}

/** Whether a report about the same allocation is newer or more complete. */
function isNews(known: Allocation, next: Allocation): boolean {
  if (next.ModifyIndex !== known.ModifyIndex) return next.ModifyIndex > known.ModifyIndex;
  return (Boolean(next.NetworkStatus) && !known.NetworkStatus) || (Boolean(next.AllocatedResources) && !known.AllocatedResources);
}
