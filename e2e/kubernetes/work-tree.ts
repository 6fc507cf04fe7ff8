import { nodePolicies } from "./node-policies.ts";
import { specGroups } from "./spec-groups.ts";

/** What is run. */
export interface WorkTree {
  readonly commit: string;
  /** What `git status --porcelain` says; empty if there are none. */
  readonly changes: string;
}

/** How much of all a run has. */
export interface RunExtent {
  readonly groups: number;
  readonly policies: number;
  /** Whether tests were chosen by their names. */
  readonly isChosen: boolean;
}

/** Why a run is not recorded; `undefined` if it is: all groups under all policies, of a commit. */
export function whyNotRecorded({ commit, changes }: WorkTree, { groups, policies, isChosen }: RunExtent): string | undefined {
  if (isChosen || groups < specGroups.length) return "it does not have all groups";
  if (policies < nodePolicies.length) return "it does not have all policies";
  if (changes !== "") return `the work tree is not ${commit.slice(0, 12)}: ${changes.split("\n").length} files differ (git status)`;
  return undefined;
}
