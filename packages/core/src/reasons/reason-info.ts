/** Where a reason is written: an event on an object, or a field of a status. */
export type ReasonPlace =
  | "podEvent"
  | "nodeEvent"
  | "claimEvent"
  | "volumeEvent"
  | "serviceEvent"
  | "podStatus"
  | "podCondition"
  | "containerWaiting"
  | "containerTerminated"
  | "nodeCondition";

/** What a reason means to the people who find it on an object. */
export interface ReasonInfo {
  /** Where it is written, the place where people see it first in front. */
  readonly on: readonly [ReasonPlace, ...ReasonPlace[]];
  /** What has happened. */
  readonly meaning: string;
  /** What to do, with commands in backquotes, or that there is nothing to do. */
  readonly remedy: string;
}

/**
 * Reasons of events, statuses and conditions, by the word that is written. A `*` at the end of a word stands for any rest, as in `OutOf*`.
 * `virtual-kubelet explain` and the reference are made from it.
 */
export type ReasonCatalogue = Readonly<Record<string, ReasonInfo>>;
