import type { Owner } from "@virtual-kubelet/core";
import type { JobStub } from "../api/types.ts";
import { jobIdOf } from "../job/job-id.ts";

/**
 * Jobs of an owner's pods outside its configured namespaces of Nomad, by namespace: they continue to run after the configuration has
 * changed. Stopped jobs are left out.
 */
export function strayJobs(
  jobs: readonly JobStub[],
  { owner, namespaces }: { readonly owner: Owner; readonly namespaces: readonly string[] },
): ReadonlyMap<string, readonly JobStub[]> {
  const isStray = ({ ID, Namespace, Meta, Stop }: JobStub): boolean =>
    !Stop && !namespaces.includes(Namespace) && ID === jobIdOf(owner, Meta?.["vk.uid"] ?? "");
  return Map.groupBy(jobs.filter(isStray), ({ Namespace }) => Namespace);
}
