import { createHash } from "node:crypto";
import type { Owner } from "@virtual-kubelet/core";
import { groupName } from "./pod-shape.ts";

/** What the ids of all pods' jobs begin with. */
export const jobPrefix = "vk-";

const alphabet = "abcdefghijklmnopqrstuvwxyz234567";
const idLength = 26;

/** The id of a pod's job. It follows from the pod's UID, so that a create that is made again finds what it made. */
export function jobIdOf({ clusterId, nodeName }: Owner, uid: string): string {
  const digest = createHash("sha256").update([clusterId, nodeName, uid].join("\0")).digest();
  let id = jobPrefix;
  for (let index = 0; index < idLength; index++) id += alphabet[(digest[index] ?? 0) % alphabet.length];
  return id;
}

/** Where a job's variables are. Its tasks may read these without a policy, and nothing else may. */
export const variablePaths = {
  /** What comes from secrets, and environments. */
  confidential: (jobId: string): string => `nomad/jobs/${jobId}`,
  /** Files that come from elsewhere. */
  files: (jobId: string): string => `nomad/jobs/${jobId}/${groupName}`,
  /** The gate of a container. */
  gate: (jobId: string, task: string): string => `nomad/jobs/${jobId}/${groupName}/${task}`,
} as const;

const variableOfJob = new RegExp(`^nomad/jobs/(${jobPrefix}[${alphabet}]{${idLength}})(?:/.*)?$`);

/** The job that a variable belongs to; `undefined` for a variable of somebody else. */
export function jobIdOfVariable(path: string): string | undefined {
  return variableOfJob.exec(path)?.[1];
}

/** Nomad's filter for the jobs of an owner; `Job.` before the field for allocations. */
export function ownerFilter({ clusterId, nodeName }: Owner, prefix: "" | "Job." = ""): string {
  return `${prefix}Meta["vk.cluster"] == ${JSON.stringify(clusterId)} and ${prefix}Meta["vk.node"] == ${JSON.stringify(nodeName)}`;
}
