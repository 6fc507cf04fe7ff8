import type { Clock, Logger } from "@virtual-kubelet/core";
import { isConflict, messageOf } from "@virtual-kubelet/errdefs";
import type { NomadClient } from "../api/nomad-client.ts";
import { jobIdOfVariable, jobPrefix, variablePaths } from "../job/job-id.ts";

export interface VariableSweepOptions {
  readonly client: Pick<NomadClient, "listVariables" | "listJobs" | "deleteVariable">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Interval between sweeps. */
const sweepMs = 600_000;
/**
 * A variable without a job is deleted when it is found a second time, unchanged: variables are written before their job is
 * registered, by other nodes too.
 */
const confirmMs = 60_000;

/**
 * Deletes the variables of pods whose job is gone: after an interrupted deletion, a failed registration or a
 * purge while the program was down. Includes variables of other nodes, whose programs may be gone for good.
 */
export class VariableSweep {
  readonly #options: VariableSweepOptions;
  /** Variables that had no job the last time, with the index of their last change. */
  #suspects: ReadonlyMap<string, number> = new Map();

  constructor(options: VariableSweepOptions) {
    this.#options = options;
  }

  /** Runs until aborted. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    let pauseMs = confirmMs;
    while (!signal.aborted) {
      try {
        await clock.sleep(pauseMs, signal);
        await this.sweep(signal);
        pauseMs = this.#suspects.size > 0 ? confirmMs : sweepMs;
      } catch (error) {
        if (signal.aborted) return;
        pauseMs = sweepMs;
        logger.debug({ err: messageOf(error) }, "variables of deleted pods cannot be searched for; trying again");
      }
    }
  }

  /** Checks all variables once. */
  async sweep(signal: AbortSignal): Promise<void> {
    const { client, logger } = this.#options;
    const variables = await client.listVariables(variablePaths.confidential(jobPrefix), signal);
    // This list includes jobs registered meanwhile.
    if (variables.length === 0) {
      this.#suspects = new Map();
      return;
    }
    const { items, skipped } = await client.listJobs(`ID matches "^${jobPrefix}"`, signal);
    // An unreadable job exists as well, and its ID may be unknown.
    if (skipped.includes(undefined)) return;
    const jobs = new Set([...items.map(({ ID }) => ID), ...skipped]);
    const suspects = new Map<string, number>();
    for (const { Path, ModifyIndex } of variables) {
      const jobId = jobIdOfVariable(Path);
      if (jobId === undefined || jobs.has(jobId)) continue;
      if (this.#suspects.get(Path) !== ModifyIndex) {
        suspects.set(Path, ModifyIndex);
        continue;
      }
      try {
        await client.deleteVariable(Path, signal, ModifyIndex);
        logger.info({ variable: Path }, "deleted a variable of a deleted pod");
      } catch (error) {
        if (!isConflict(error)) throw error;
      }
    }
    this.#suspects = suspects;
  }
}
