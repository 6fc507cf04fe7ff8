import type { DeepReadonly, Owner, Pod, PodRef, ProviderPodStatus, ResolvedPod } from "@virtual-kubelet/core";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import type { Job, JobSpec } from "./job.ts";

/**
 * Pod → job. The tags identify the pod after a restart of the program.
 *
 * @throws InvalidInputError for a container without a command; what `resolved` throws
 */
export async function toJobSpec(
  { metadata, spec }: DeepReadonly<Pod>,
  resolved: ResolvedPod,
  { clusterId, nodeName }: Owner,
  signal: AbortSignal,
): Promise<JobSpec> {
  const { namespace = "", name = "", uid = "" } = metadata ?? {};
  const { name: container = "", image = "" } = spec?.containers[0] ?? {};
  const { command, args } = await resolved.commandLine(container, signal);
  if (command.length + args.length === 0)
    throw new InvalidInputError(`container ${container} has no command; set it to the program to run`);
  const variables = await resolved.environment(container, signal);
  return {
    id: uid,
    container,
    image,
    command: [...command, ...args],
    env: Object.fromEntries(variables.map(({ name: variable, value }) => [variable, value])),
    tags: { clusterId, nodeName, namespace, name },
  };
}

/** The pod that a job belongs to. */
export function toRef({ id, tags }: Job): PodRef {
  return { namespace: tags["namespace"] ?? "", name: tags["name"] ?? "", uid: id };
}

/** The cluster and node that a job belongs to. Jobs without them are never deleted. */
export function toOwner({ tags }: Job): Owner {
  return { clusterId: tags["clusterId"] ?? "", nodeName: tags["nodeName"] ?? "" };
}

/** Job → status: the phase, and the state of each container. */
export function toStatus({ container: name, image, createdAt: startedAt, ended }: Job): ProviderPodStatus {
  const state = ended ? { terminated: { startedAt, ...ended } } : { running: { startedAt } };
  const isRunning = ended === undefined;
  return {
    phase: isRunning ? "Running" : ended.exitCode === 0 ? "Succeeded" : "Failed",
    containerStatuses: [{ name, image, imageID: image, ready: isRunning, started: isRunning, restartCount: 0, state }],
  };
}
