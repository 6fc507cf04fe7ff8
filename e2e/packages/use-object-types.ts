// Type-checked in a project outside the workspace, which also uses client-node and emits declarations.
import { V1Pod, type V1Volume } from "@kubernetes/client-node";
import type { models, Pod, PodSpec, Wire } from "@virtual-kubelet/kube-client";

/** An object of client-node as the API's JSON. */
export function toJson(pod: V1Pod): Pod {
  return JSON.parse(JSON.stringify(pod)) as Wire<V1Pod>;
}

export const pod: Pod = { metadata: { name: "web" }, spec: { containers: [{ name: "web", image: "nginx" }] } };
export const fromClientNode: Pod = toJson(new V1Pod());
export const spec: Wire<V1Pod>["spec"] = pod.spec;
export const volume: Wire<V1Volume> | undefined = pod.spec?.volumes?.[0];
export const named: readonly (models.V1Volume | undefined)[] = [volume];
// The types of these are inferred, and are of parts of objects: declarations must be able to name them.
export const volumes = (of: PodSpec) => of.volumes ?? [];
export const probes = { liveness: pod.spec?.containers.map(({ livenessProbe }) => livenessProbe) };

// @ts-expect-error: the API's JSON has texts for times.
pod.metadata = { creationTimestamp: new Date(0) };
// @ts-expect-error: the name is required.
pod.spec = { containers: [{}] };
