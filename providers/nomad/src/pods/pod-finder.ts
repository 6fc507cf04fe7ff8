import type { Owner, PodRef } from "@virtual-kubelet/core";
import { ConflictError, InvalidInputError, isNotFound, NotFoundError } from "@virtual-kubelet/errdefs";
import type { NomadClient } from "../api/nomad-client.ts";
import type { Allocation } from "../api/types.ts";
import { jobIdOf } from "../job/job-id.ts";
import { readJobMeta, type NamespaceOf } from "../job/job-meta.ts";
import type { PodEntry } from "./pod-entry.ts";
import type { PodKeeper } from "./pod-keeper.ts";
import type { PodRegistry } from "./pod-registry.ts";

export interface PodFinderOptions {
  readonly clientOf: (ref: PodRef) => NomadClient;
  readonly owner: Owner;
  readonly namespaceOf: NamespaceOf;
  readonly registry: PodRegistry;
  readonly keeper: PodKeeper;
  /** Whether changes are followed, so that the registry is up to date. */
  readonly isFollowing: () => boolean;
}

/** Finds a pod in the registry or in Nomad. */
export class PodFinder {
  readonly #options: PodFinderOptions;

  constructor(options: PodFinderOptions) {
    this.#options = options;
  }

  /** The pod from the registry, else from Nomad. @throws what {@link adopt} throws */
  async find(ref: PodRef, signal: AbortSignal): Promise<PodEntry> {
    const known = this.#known(ref);
    if (!known) return this.adopt(ref, signal);
    signal.throwIfAborted();
    return known;
  }

  /** The current state of the pod: from the registry while changes are followed, else from Nomad. @throws what {@link adopt} throws */
  async look(ref: PodRef, signal: AbortSignal): Promise<PodEntry> {
    if (this.#options.isFollowing()) return this.find(ref, signal);
    try {
      return await this.adopt(ref, signal);
    } catch (error) {
      const known = isNotFound(error) ? this.#known(ref) : undefined;
      if (known) this.#options.keeper.onGone(known);
      throw error;
    }
  }

  /**
   * Reads the pod from Nomad and adds it to the registry.
   *
   * @throws NotFoundError; ConflictError if its job is somebody else's; InvalidInputError if it cannot be read
   */
  async adopt(ref: PodRef, signal: AbortSignal): Promise<PodEntry> {
    const { owner, namespaceOf, registry, keeper } = this.#options;
    const client = this.#options.clientOf(ref);
    const jobId = jobIdOf(owner, ref.uid);
    const job = await client.readJob(jobId, signal);
    const meaning = readJobMeta(job, owner, namespaceOf);
    if (meaning.kind === "foreign")
      throw new ConflictError(
        `job ${jobId} of pod ${ref.namespace}/${ref.name} exists in Nomad without the meta of a pod; stop and purge it`,
      );
    if (meaning.kind === "unreadable")
      throw new InvalidInputError(`job ${jobId} of pod ${ref.namespace}/${ref.name} cannot be read: ${meaning.why}; or delete the pod`);
    const note = (allocations: readonly Allocation[]): void => {
      for (const allocation of allocations.toSorted((a, b) => a.CreateIndex - b.CreateIndex)) registry.noteAllocation(allocation);
    };
    const allocations = await client.jobAllocations(jobId, signal);
    const isNew = !registry.get(ref.uid);
    const entry = registry.noteJob(job);
    if (!entry) throw new NotFoundError(`pod ${ref.namespace}/${ref.name} (${ref.uid}) has no job in Nomad`);
    note(allocations);
    // Events between the list and the registration here were dropped.
    if (isNew) note(await client.jobAllocations(jobId, signal));
    keeper.onChange(entry);
    return entry;
  }

  /** A pod whose job is known to be registered. */
  #known({ uid }: PodRef): PodEntry | undefined {
    const known = this.#options.registry.get(uid);
    return known && known.createIndex > 0 ? known : undefined;
  }
}
