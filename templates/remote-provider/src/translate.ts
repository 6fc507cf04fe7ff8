import {
  podRef,
  type ContainerState,
  type DeepReadonly,
  type Owner,
  type Pod,
  type PodRef,
  type ProviderPod,
  type ResolvedPod,
} from "@virtual-kubelet/core";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
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
  context: Owner & { readonly config: Pick<Config, "region"> },
  signal: AbortSignal,
): Promise<JobSpec> {
  const ref = podRef(pod);
  const { name: container = "", image = "" } = pod.spec?.containers[0] ?? {};
  const { command, args } = await resolved.commandLine(container, signal);
  if (command.length + args.length === 0)
    throw new InvalidInputError(`container ${container} has no command; set it to the program to run`);
  const variables = await resolved.environment(container, signal);
  return {
    // The pod's UID, so that a repeated create cannot make a second job.
    name: ref.uid,
    region: pod.metadata?.annotations?.[regionAnnotation.name] ?? context.config.region,
    image,
    command: [...command, ...args],
    env: Object.fromEntries(variables.map(({ name, value }) => [name, value])),
    tags: { ...ownerTags(context), namespace: ref.namespace, name: ref.name, uid: ref.uid, container },
  };
}

/** Tags of all jobs of this cluster and node. */
export function ownerTags({ clusterId, nodeName }: Owner): Readonly<Record<string, string>> {
  return { cluster: clusterId, node: nodeName };
}

/** Job → pod: its identity from the tags, and its status. */
export function toPod({ tags, image, createdAt, startedAt, address, ended }: Job): ProviderPod {
  const isRunning = startedAt !== undefined && ended === undefined;
  const state: ContainerState = ended
    ? { terminated: { ...(startedAt !== undefined && { startedAt }), ...ended } }
    : isRunning
      ? { running: { startedAt } }
      : { waiting: { reason: "ContainerCreating" } };
  return {
    ref: toRef(tags),
    owner: { clusterId: tags["cluster"] ?? "", nodeName: tags["node"] ?? "" },
    createdAt,
    status: {
      phase: ended ? (ended.exitCode === 0 ? "Succeeded" : "Failed") : isRunning ? "Running" : "Pending",
      ...(address !== undefined && { podIP: address, podIPs: [{ ip: address }] }),
      containerStatuses: [
        { name: tags["container"] ?? "", image, imageID: image, ready: isRunning, started: isRunning, restartCount: 0, state },
      ],
    },
  };
}

function toRef(tags: Job["tags"]): PodRef {
  return { namespace: tags["namespace"] ?? "", name: tags["name"] ?? "", uid: tags["uid"] ?? "" };
}
