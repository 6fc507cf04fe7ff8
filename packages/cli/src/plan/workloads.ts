import type { KubernetesObject, PodSpec } from "@virtual-kubelet/kube-client";

/** A workload, as a manifest has it. */
export interface Workload extends KubernetesObject {
  readonly kind: WorkloadKind;
  readonly spec?: {
    readonly template?: { readonly spec?: PodSpec };
    readonly jobTemplate?: { readonly spec?: { readonly template?: { readonly spec?: PodSpec } } };
  };
}

type WorkloadKind = keyof typeof paths;

/** Paths of the API server's lists, in one namespace. */
const paths = {
  Deployment: ["apps/v1", "deployments"],
  ReplicaSet: ["apps/v1", "replicasets"],
  StatefulSet: ["apps/v1", "statefulsets"],
  DaemonSet: ["apps/v1", "daemonsets"],
  Job: ["batch/v1", "jobs"],
  CronJob: ["batch/v1", "cronjobs"],
} as const;

/** Kinds of workloads whose pods can be planned. */
export const workloadKinds: readonly string[] = Object.keys(paths);

/** Whether an object makes pods. */
export function isWorkload(object: KubernetesObject): object is Workload {
  return object.kind !== undefined && workloadKinds.includes(object.kind);
}

/** Path at which the API server creates workloads of a kind. */
export function workloadPath(kind: WorkloadKind, namespace: string): string {
  const [version, plural] = paths[kind];
  return `/apis/${version}/namespaces/${namespace}/${plural}`;
}

/** The template of the workload's pods; `undefined` if it is missing. */
export function podSpecOf({ spec }: Workload): PodSpec | undefined {
  return spec?.template?.spec ?? spec?.jobTemplate?.spec?.template?.spec;
}
