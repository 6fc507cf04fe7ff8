import type { Allocation } from "../api/types.ts";
import { firstAttempt, type PodAttempt } from "../job/job-meta.ts";
import type { PodShape } from "../job/pod-shape.ts";
import type { Terminated } from "../status/container-status.ts";

/** How far the end of a deleted pod is. */
interface PodEnding {
  /** When what still runs is killed, on the monotonic clock. */
  deadlineMs: number;
  /** Kills what still runs. */
  timer: Disposable | undefined;
  /** Purges the job, once all has ended. */
  purge: Disposable | undefined;
}

/** A start that waits for its time, because the one before has failed. */
interface NextStart {
  readonly delayMs: number;
  readonly timer: Disposable;
}

/** All that is known of a pod that Nomad holds. */
export interface PodEntry {
  readonly jobId: string;
  readonly shape: PodShape;
  /** Index of the job's registration; 0 while it is being registered. */
  createIndex: number;
  /** RFC 3339; `undefined` while it is being registered. */
  createdAt: string | undefined;
  /** Nomad was told to stop the job, or says that it was. */
  stopped: boolean;
  /** The one allocation of the pod's start. Whatever else the job has is of a start before, or a replacement. */
  allocation: Allocation | undefined;
  /** Nomad has made another one. */
  hasReplacement: boolean;
  attempt: PodAttempt;
  nextStart: NextStart | undefined;
  readonly remembered: Map<string, Terminated>;
  unplaced: string | undefined;
  /** Containers whose gate is open. */
  readonly opened: Set<string>;
  /** Containers that have turned out to have no shell. */
  readonly withoutShell: Set<string>;
  ending: PodEnding | undefined;
  /** What was told of it last, as JSON. */
  told: string | undefined;
}

/** A pod that nothing is known of but what it is made of. */
export function newPodEntry(jobId: string, shape: PodShape, attempt: PodAttempt = firstAttempt): PodEntry {
  return {
    jobId,
    shape,
    createIndex: 0,
    createdAt: undefined,
    stopped: false,
    allocation: undefined,
    hasReplacement: false,
    attempt,
    nextStart: undefined,
    remembered: new Map(),
    unplaced: undefined,
    opened: new Set(),
    withoutShell: new Set(),
    ending: undefined,
    told: undefined,
  };
}
