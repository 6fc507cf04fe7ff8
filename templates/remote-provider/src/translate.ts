import type { ContainerState, DeepReadonly, Pod, ResolvedPod } from "@virtual-kubelet/core";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import { writeTags, type Observation, type PodIdentity } from "@virtual-kubelet/remote-pods";
import { regionAnnotation, type Config } from "./config.ts";
import type { Job, JobSpec } from "./jobs-api.ts";

/**
 * Pod → job. The tags identify the pod after a restart of the program.
 *
 * @throws InvalidInputError for a container without a command; what `resolved` throws
 */
export async function toJobSpec(
  pod: DeepReadonly<Pod>,
  resolved: ResolvedPod,
  { identity, config }: { readonly identity: PodIdentity; readonly config: Pick<Config, "region"> },
  signal: AbortSignal,
): Promise<JobSpec> {
  const { name: container = "", image = "" } = pod.spec?.containers[0] ?? {};
  const { command, args } = await resolved.commandLine(container, signal);
  if (command.length + args.length === 0)
    throw new InvalidInputError(`container ${container} has no command; set it to the program to run`);
  const variables = await resolved.environment(container, signal);
  return {
    name: jobName(identity),
    region: pod.metadata?.annotations?.[regionAnnotation.name] ?? config.region,
    image,
    command: [...command, ...args],
    env: Object.fromEntries(variables.map(({ name, value }) => [name, value])),
    tags: { ...writeTags(identity), container },
  };
}

/** Name of a pod's job: the pod's UID, so that a repeated create cannot make a second job, and the number of the job after the first. */
function jobName({ ref: { uid }, attempt }: PodIdentity): string {
  return attempt === 0 ? uid : `${uid}-${attempt}`;
}

/** Job → what Kubernetes shows of the pod. */
export function toObservation({ tags, image, createdAt, startedAt, address, ended }: Job): Observation {
  const isRunning = startedAt !== undefined && ended === undefined;
  const state: ContainerState = ended
    ? { terminated: { ...(startedAt !== undefined && { startedAt }), ...ended } }
    : isRunning
      ? { running: { startedAt } }
      : { waiting: { reason: "ContainerCreating" } };
  return {
    progress: ended ? "ended" : isRunning ? "running" : "starting",
    createdAt,
    memory: undefined,
    status: {
      phase: ended ? (ended.exitCode === 0 ? "Succeeded" : "Failed") : isRunning ? "Running" : "Pending",
      ...(address !== undefined && { podIP: address, podIPs: [{ ip: address }] }),
      containerStatuses: [
        { name: tags["container"] ?? "", image, imageID: image, ready: isRunning, started: isRunning, restartCount: 0, state },
      ],
    },
  };
}
