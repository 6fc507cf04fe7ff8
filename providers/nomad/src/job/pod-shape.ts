import type { Container, DeepReadonly, Owner, Pod, PodRef } from "@virtual-kubelet/core";
import { isSidecar } from "@virtual-kubelet/kubernetes";
import type { NomadDriver } from "../config.ts";

/** Role of a container in its pod. */
export type ContainerRole = "init" | "sidecar" | "main";

/** Facts about a container that its status depends on. */
export interface ContainerShape {
  readonly name: string;
  readonly image: string;
  readonly role: ContainerRole;
  /** Which probes it has; absent: none. */
  readonly probes?: readonly ProbeName[] | undefined;
}

/** Kind of a probe. */
export type ProbeName = "startup" | "readiness" | "liveness";

/** Facts about a pod beyond its allocation. They are stored in the job's meta, so that they survive a restart of the program. */
export interface PodShape {
  readonly ref: PodRef;
  readonly owner: Owner;
  readonly restartPolicy: "Always" | "OnFailure" | "Never";
  /** Init containers and sidecars first, in the pod's order. */
  readonly containers: readonly ContainerShape[];
  /** Kill time-out of its tasks, in seconds. */
  readonly graceSeconds: number;
  /** Driver of its tasks. */
  readonly driver: NomadDriver;
  /** Network mode of its group. */
  readonly network: string;
  /** Paths of its variables, except gates. */
  readonly variables: readonly string[];
  /** Volumes whose files are in those variables. */
  readonly fileVolumes: readonly { readonly name: string; readonly confidential: boolean }[];
}

/** Name of the group, and of the folder of its tasks' variables. */
export const groupName = "pod";

/** What the pod is made of. */
export function shapeOf(
  pod: DeepReadonly<Pod>,
  rest: Pick<PodShape, "owner" | "driver" | "network" | "variables" | "fileVolumes">,
): PodShape {
  const { metadata, spec } = pod;
  const { restartPolicy } = spec ?? {};
  return {
    ref: { namespace: metadata?.namespace ?? "default", name: metadata?.name ?? "", uid: metadata?.uid ?? "" },
    restartPolicy: restartPolicy === "Never" || restartPolicy === "OnFailure" ? restartPolicy : "Always",
    containers: [
      ...(spec?.initContainers ?? []).map((container) => containerShape(container, isSidecar(container) ? "sidecar" : "init")),
      ...(spec?.containers ?? []).map((container) => containerShape(container, "main")),
    ],
    graceSeconds: spec?.terminationGracePeriodSeconds ?? 30,
    ...rest,
  };
}

function containerShape(container: DeepReadonly<Container>, role: ContainerRole): ContainerShape {
  const { name, image = "", startupProbe, readinessProbe, livenessProbe } = container;
  const probes: ProbeName[] = [
    ...(startupProbe ? ["startup" as const] : []),
    ...(readinessProbe ? ["readiness" as const] : []),
    ...(livenessProbe ? ["liveness" as const] : []),
  ];
  return { name, image, role, ...(probes.length > 0 && role !== "init" && { probes }) };
}

/** Containers that start before the others, in their order. */
export function prestartContainers({ containers }: Pick<PodShape, "containers">): readonly ContainerShape[] {
  return containers.filter(({ role }) => role !== "main");
}

/**
 * Containers that wait at a gate. Without gates Nomad would start all init containers and sidecars at once, and the main ones as soon as the
 * sidecars run, because it does not know startup probes.
 */
export function gatedContainers(shape: Pick<PodShape, "containers">): readonly ContainerShape[] {
  const prestart = prestartContainers(shape);
  const isWaitedFor = prestart.some(({ role, probes }) => role === "sidecar" && probes?.includes("startup"));
  return [...prestart.slice(1), ...(isWaitedFor ? shape.containers.filter(({ role }) => role === "main") : [])];
}
