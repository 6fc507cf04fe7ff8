import type { Trial } from "./trials.ts";

/** Work tree of a run. */
export interface WorkTree {
  readonly commit: string;
  /** Output of `git status --porcelain`; empty if there are no changes. */
  readonly changes: string;
}

/** Extent of a run. */
export interface RunExtent {
  readonly groups: number;
  readonly policies: number;
  /** Whether tests were selected by their names. */
  readonly isChosen: boolean;
}

/** Reason why a run is not recorded; `undefined` if it has all groups under all policies and an unchanged work tree. */
export function whyNotRecorded(
  { commit, changes }: WorkTree,
  trial: Pick<Trial, "groups" | "policies">,
  { groups, policies, isChosen }: RunExtent,
): string | undefined {
  if (isChosen || groups < trial.groups.length) return "it does not have all groups";
  if (policies < trial.policies.length) return "it does not have all policies";
  if (changes !== "") return `the work tree is not ${commit.slice(0, 12)}: ${changes.split("\n").length} files differ (git status)`;
  return undefined;
}
