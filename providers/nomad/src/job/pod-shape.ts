import { isSidecar, type DeepReadonly, type Owner, type Pod, type PodRef } from "@virtual-kubelet/core";
import { InvalidInputError } from "@virtual-kubelet/errdefs";

/** What a container is in its pod. */
export type ContainerRole = "init" | "sidecar" | "main";

/** What has to be known of a container to tell its status. */
export interface ContainerShape {
  readonly name: string;
  readonly image: string;
  readonly role: ContainerRole;
}

/** What has to be known of a pod beyond its allocation. It is in the job's meta, so that it outlives us. */
export interface PodShape {
  readonly ref: PodRef;
  readonly owner: Owner;
  readonly restartPolicy: "Always" | "OnFailure" | "Never";
  /** Init containers and sidecars first, in the pod's order. */
  readonly containers: readonly ContainerShape[];
  /** Kill time-out of its tasks, in seconds. */
  readonly graceSeconds: number;
  /** Network mode of its group. */
  readonly network: string;
  /** Paths of the variables that are its own, gates not among them. */
  readonly variables: readonly string[];
  /** Volumes whose files are in those variables. */
  readonly fileVolumes: readonly { readonly name: string; readonly confidential: boolean }[];
}

/** Name of the group, and of the folder of its tasks' variables. */
export const groupName = "pod";

/** What the pod is made of. */
export function shapeOf(pod: DeepReadonly<Pod>, rest: Pick<PodShape, "owner" | "network" | "variables" | "fileVolumes">): PodShape {
  const { metadata, spec } = pod;
  const { restartPolicy } = spec ?? {};
  return {
    ref: { namespace: metadata?.namespace ?? "default", name: metadata?.name ?? "", uid: metadata?.uid ?? "" },
    restartPolicy: restartPolicy === "Never" || restartPolicy === "OnFailure" ? restartPolicy : "Always",
    containers: [
      ...(spec?.initContainers ?? []).map((container): ContainerShape => ({
        name: container.name,
        image: container.image ?? "",
        role: isSidecar(container) ? "sidecar" : "init",
      })),
      ...(spec?.containers ?? []).map(({ name, image = "" }): ContainerShape => ({ name, image, role: "main" })),
    ],
    graceSeconds: spec?.terminationGracePeriodSeconds ?? 30,
    ...rest,
  };
}

/** The job's meta. It never changes: Nomad would start the pod anew. */
export function metaOf({ ref, owner, ...rest }: PodShape): Readonly<Record<string, string>> {
  return {
    "vk.cluster": owner.clusterId,
    "vk.node": owner.nodeName,
    "vk.namespace": ref.namespace,
    "vk.pod": ref.name,
    "vk.uid": ref.uid,
    "vk.shape": JSON.stringify(rest),
  };
}

/** The shape that the meta tells; `undefined` for a job that is no pod. @throws InvalidInputError for one that somebody has changed */
export function shapeFromMeta(jobId: string, meta: Readonly<Record<string, string>> | null | undefined): PodShape | undefined {
  const uid = meta?.["vk.uid"];
  const text = meta?.["vk.shape"];
  if (!meta || uid === undefined || text === undefined) return undefined;
  let rest: Omit<PodShape, "ref" | "owner">;
  try {
    rest = JSON.parse(text) as typeof rest;
  } catch (cause) {
    throw new InvalidInputError(`job ${jobId}: its meta vk.shape is no JSON; somebody has changed it`, { cause });
  }
  return {
    ...rest,
    ref: { namespace: meta["vk.namespace"] ?? "", name: meta["vk.pod"] ?? "", uid },
    owner: { clusterId: meta["vk.cluster"] ?? "", nodeName: meta["vk.node"] ?? "" },
  };
}

/** Containers that start before the others, in their order. */
export function prestartContainers({ containers }: Pick<PodShape, "containers">): readonly ContainerShape[] {
  return containers.filter(({ role }) => role !== "main");
}

/** Containers that wait at a gate: Nomad would start all that come before the main ones at once. */
export function gatedContainers(shape: Pick<PodShape, "containers">): readonly ContainerShape[] {
  return prestartContainers(shape).slice(1);
}
