import type { Owner, PodRef } from "@virtual-kubelet/core";

/** Labels of everything we make. The first five are a kubelet's own names, which tools know. */
export const labelNames = {
  podName: "io.kubernetes.pod.name",
  podNamespace: "io.kubernetes.pod.namespace",
  podUid: "io.kubernetes.pod.uid",
  container: "io.kubernetes.container.name",
  sandboxId: "io.kubernetes.sandbox.id",
  attempt: "virtual-kubelet.io/attempt",
  specHash: "virtual-kubelet.io/spec-hash",
  cluster: "virtual-kubelet.io/cluster",
  node: "virtual-kubelet.io/node",
} as const;

/** Who a container is: its name in the pod, which start of it, and what of its spec it was made from. */
export interface ContainerIdentity {
  readonly container: string;
  /** 0 for the first start; the restart count of the container. */
  readonly attempt: number;
  readonly specHash: string;
}

/** Labels of a pod's sandbox; the attempt counts the pod's sandboxes. */
export function podLabels(ref: PodRef, owner: Owner, attempt: number): Readonly<Record<string, string>> {
  return {
    [labelNames.podName]: ref.name,
    [labelNames.podNamespace]: ref.namespace,
    [labelNames.podUid]: ref.uid,
    [labelNames.cluster]: owner.clusterId,
    [labelNames.node]: owner.nodeName,
    [labelNames.attempt]: String(attempt),
  };
}

/** Labels of a container. */
export function containerLabels(ref: PodRef, owner: Owner, identity: ContainerIdentity): Readonly<Record<string, string>> {
  return {
    ...podLabels(ref, owner, identity.attempt),
    [labelNames.container]: identity.container,
    [labelNames.specHash]: identity.specHash,
  };
}

/** The identity in a container's labels; `undefined` for what is none of ours. */
export function tryContainerIdentity(labels: Readonly<Record<string, string>>): ContainerIdentity | undefined {
  const container = labels[labelNames.container];
  const attempt = tryAttempt(labels);
  if (container === undefined || attempt === undefined) return undefined;
  return { container, attempt, specHash: labels[labelNames.specHash] ?? "" };
}

/** The attempt in labels; `undefined` where there is none that counts. */
export function tryAttempt(labels: Readonly<Record<string, string>>): number | undefined {
  const text = labels[labelNames.attempt];
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}
