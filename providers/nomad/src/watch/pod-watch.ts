import type { Clock, Logger, Owner, PodEvent, PodRef } from "@virtual-kubelet/core";
import { z } from "zod";
import type { IndexedList, NomadClient } from "../api/nomad-client.ts";
import type { ObjectKind, ObjectReader } from "../api/object-reader.ts";
import { allocationSchema, evaluationSchema } from "../api/object-schemas.ts";
import type { NomadEvent } from "../api/types.ts";
import type { NomadConfig } from "../config.ts";
import { jobPrefix, ownerFilter } from "../job/job-id.ts";
import type { FileRefresh } from "../pods/file-refresh.ts";
import type { PodEntry } from "../pods/pod-entry.ts";
import type { PodKeeper } from "../pods/pod-keeper.ts";
import type { PodRegistry } from "../pods/pod-registry.ts";
import type { PodProbing } from "../probes/pod-probing.ts";
import { Feed } from "./feed.ts";

export interface PodWatchOptions {
  /**
   * One for each namespace of Nomad. A stream of all namespaces needs rights in all of them. A list silently leaves out what the token
   * may not read, and its pods would count as gone.
   */
  readonly clients: readonly NomadClient[];
  readonly reader: ObjectReader;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly config: Pick<NomadConfig, "relist" | "stream">;
  readonly owner: Owner;
  readonly registry: PodRegistry;
  readonly keeper: PodKeeper;
  readonly files: FileRefresh;
  readonly probing: Pick<PodProbing, "watch">;
  readonly recordEvent: (pod: PodRef, event: PodEvent) => void;
}

const jobIdSchema = z.object({ JobID: z.string(), Namespace: z.string() });

/** Feeds lists and events of Nomad into the registry and has the changes acted on. */
export class PodWatch {
  readonly #options: PodWatchOptions;
  readonly #feed: Feed;

  constructor(options: PodWatchOptions) {
    const { clients, clock, logger, config } = options;
    this.#options = options;
    this.#feed = new Feed({
      clients,
      clock,
      logger,
      relist: (signal) => this.relist(signal),
      onEvent: (event) => this.#onEvent(event),
      relistMs: config.relist,
      stream: config.stream,
    });
  }

  /** Whether changes are followed. */
  get connected(): boolean {
    return this.#feed.connected;
  }

  /** Runs until aborted. Never rejects. */
  run(signal: AbortSignal): Promise<void> {
    return this.#feed.run(signal);
  }

  /** Reads full lists into the registry. @returns the index of the lists */
  async relist(signal: AbortSignal): Promise<number> {
    const { owner, registry, keeper, files, probing } = this.#options;
    const mark = registry.mark();
    const jobs = await this.#listAll((client) => client.listJobs(ownerFilter(owner), signal));
    const allocations = await this.#listAll((client) => client.listAllocations(ownerFilter(owner, "Job."), signal));
    const { changed, gone, missing } = registry.noteAll(jobs, allocations, mark);
    for (const entry of gone) keeper.onGone(entry);
    for (const entry of missing) keeper.lookAfter(entry);
    if (registry.entries.some(({ allocation, stopped }) => !allocation && !stopped)) await this.#readEvaluations(signal);
    for (const entry of changed) keeper.onChange(entry);
    for (const entry of registry.entries) {
      if (!entry.ending) files.watch(entry.shape);
      // Its pod may have been unknown before.
      if (probing.watch(entry)) keeper.onChange(entry);
    }
    return allocations.index;
  }

  /** One list of all namespaces, as old as the oldest. */
  async #listAll<T>(list: (client: NomadClient) => Promise<IndexedList<T>>): Promise<IndexedList<T>> {
    const lists = await Promise.all(this.#options.clients.map(list));
    return {
      items: lists.flatMap(({ items }) => items),
      index: Math.min(...lists.map(({ index }) => index)),
      skipped: lists.flatMap(({ skipped }) => skipped),
    };
  }

  async #readEvaluations(signal: AbortSignal): Promise<void> {
    try {
      const { items } = await this.#listAll((client) => client.blockedEvaluations(`JobID matches "^${jobPrefix}"`, signal));
      for (const evaluation of items) this.#onEvaluation(this.#options.registry.noteEvaluation(evaluation));
    } catch (error) {
      signal.throwIfAborted();
      this.#options.logger.debug({ err: error }, "Nomad does not report why pods cannot be placed");
    }
  }

  #onEvent({ Topic, Type, Key, Namespace = "", Payload }: NomadEvent): void {
    const { registry, keeper } = this.#options;
    switch (Topic) {
      case "Allocation": {
        const allocation = this.#read("allocation", allocationSchema, Payload?.Allocation);
        const entry = allocation && registry.noteAllocation(allocation);
        if (entry) keeper.onChange(entry);
        return;
      }
      case "Evaluation": {
        const evaluation = this.#read("evaluation", evaluationSchema, Payload?.Evaluation);
        if (evaluation) this.#onEvaluation(registry.noteEvaluation(evaluation));
        return;
      }
      case "Job": {
        const entry = registry.byJob(Key, Namespace);
        if (Type === "JobDeregistered" && entry && !entry.ending && !entry.stopped) keeper.lookAfter(entry);
        return;
      }
      default:
    }
  }

  /** Parses the object of an event about a pod's job. Events about other jobs are not parsed. */
  #read<T>(kind: ObjectKind, schema: z.ZodType<T>, value: unknown): T | undefined {
    const { data } = jobIdSchema.safeParse(value);
    return data && this.#options.registry.byJob(data.JobID, data.Namespace) ? this.#options.reader.read(kind, schema, value) : undefined;
  }

  #onEvaluation(entry: PodEntry | undefined): void {
    if (!entry) return;
    this.#options.recordEvent(entry.shape.ref, { type: "Warning", reason: "NomadUnplaced", message: entry.unplaced ?? "" });
    this.#options.keeper.onChange(entry);
  }
}
