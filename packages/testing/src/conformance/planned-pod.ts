import type { Container, Pod } from "@virtual-kubelet/core";
import type { Program, Recipes } from "./programs.ts";

/** A container of a pod that the suite makes. */
export interface PlannedContainer extends Pick<
  Container,
  "env" | "volumeMounts" | "stdin" | "ports" | "restartPolicy" | "startupProbe" | "readinessProbe" | "livenessProbe"
> {
  /** Default `main`. */
  readonly name?: string | undefined;
  /** Default: runs until it is told to stop. */
  readonly program?: Program | undefined;
}

/** A pod that the suite makes; its restart policy is Never unless said otherwise. */
export interface PlannedPod {
  readonly name?: string | undefined;
  readonly containers?: readonly PlannedContainer[] | undefined;
  readonly initContainers?: readonly PlannedContainer[] | undefined;
  readonly restartPolicy?: "Always" | "OnFailure" | "Never" | undefined;
  readonly volumes?: NonNullable<Pod["spec"]>["volumes"] | undefined;
}

/** What a pod is made of. */
export interface PodSurroundings {
  readonly programs: Recipes;
  readonly nodeName: string;
  readonly nowMs: number;
  readonly uid: string;
}

/** Returns the pod as the API server would deliver it. */
export function makePod(planned: PlannedPod, { programs, nodeName, nowMs, uid }: PodSurroundings): Pod {
  const annotations: Record<string, string> = {};
  const toContainer = ({ name = "main", program = { kind: "run" }, ...rest }: PlannedContainer): Container => {
    const recipe = programs(program, name);
    Object.assign(annotations, recipe.annotations);
    return { ...recipe.container, ...rest, name };
  };
  const containers = (planned.containers ?? [{}]).map(toContainer);
  const initContainers = planned.initContainers?.map(toContainer);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      namespace: "conformance",
      name: planned.name ?? `pod-${uid.slice(0, 8)}`,
      uid,
      labels: { suite: "conformance" },
      annotations,
      creationTimestamp: new Date(nowMs).toISOString().replace(/\.\d+Z$/, "Z"),
    },
    spec: {
      nodeName,
      restartPolicy: planned.restartPolicy ?? "Never",
      terminationGracePeriodSeconds: 30,
      containers,
      ...(initContainers && { initContainers }),
      ...(planned.volumes && { volumes: planned.volumes }),
    },
  };
}
