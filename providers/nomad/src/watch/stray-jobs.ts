import type { Owner } from "@virtual-kubelet/core";
import type { JobStub } from "../api/types.ts";
import { jobIdOf } from "../job/job-id.ts";

/**
 * The jobs of an owner's pods that are in none of its namespaces of Nomad, by the namespaces where they are: what runs on after a change of
 * the configuration. Jobs that were stopped are none of them.
 */
export function strayJobs(
  jobs: readonly JobStub[],
  { owner, namespaces }: { readonly owner: Owner; readonly namespaces: readonly string[] },
): ReadonlyMap<string, readonly JobStub[]> {
  const isStray = ({ ID, Namespace, Meta, Stop }: JobStub): boolean =>
    !Stop && !namespaces.includes(Namespace) && ID === jobIdOf(owner, Meta?.["vk.uid"] ?? "");
  return Map.groupBy(jobs.filter(isStray), ({ Namespace }) => Namespace);
}
