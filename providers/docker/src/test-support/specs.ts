import type { Container, Pod, PodSpec } from "@virtual-kubelet/core";
import { containerLabels, podLabels, type ContainerSpec, type SandboxSpec } from "@virtual-kubelet/pod-runtime";

const owner = { clusterId: "cluster", nodeName: "node" };
const ref = { namespace: "shop", name: "web", uid: "u1" };

/** A pod of one container `app`, with these fields. */
export function podWith(spec: Partial<PodSpec> = {}, container: Partial<Container> = {}): Pod {
  return { metadata: { ...ref }, spec: { containers: [{ name: "app", image: "app:1", ...container }], ...spec } };
}

/** Spec of the pod's sandbox. */
export function sandboxSpec(pod: Pod = podWith(), more: Partial<SandboxSpec> = {}): SandboxSpec {
  return { labels: podLabels(ref, owner, 0), hostname: "web", hosts: [], pod, ...more };
}

/** Spec of the pod's first container. */
export function containerSpec(pod: Pod = podWith(), more: Partial<ContainerSpec> = {}): ContainerSpec {
  const container = pod.spec?.containers[0] ?? { name: "app" };
  return {
    labels: containerLabels(ref, owner, { container: container.name, attempt: 0, specHash: "h" }),
    imageId: "app@sha256:1",
    command: [],
    args: [],
    environment: [],
    mounts: [],
    limits: {},
    oomScoreAdjustment: 1000,
    pod,
    container,
    ...more,
  };
}
