import type { Container, DeepReadonly, Owner, PodRef } from "@virtual-kubelet/core";

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
  role: "virtual-kubelet.io/role",
  image: "virtual-kubelet.io/image",
  resources: "virtual-kubelet.io/resources",
  lifecycle: "virtual-kubelet.io/lifecycle",
} as const;

/** Who a container is: its name in the pod, which start of it, and what of its spec it was made from. */
export interface ContainerIdentity {
  readonly container: string;
  /** 0 for the first start; the restart count of the container. */
  readonly attempt: number;
  readonly specHash: string;
}

/** Labels by which all that is an owner's is found. */
export function ownerLabels(owner: Owner): Readonly<Record<string, string>> {
  return { [labelNames.cluster]: owner.clusterId, [labelNames.node]: owner.nodeName };
}

/** Labels of a pod's sandbox; the attempt counts the pod's sandboxes. */
export function podLabels(ref: PodRef, owner: Owner, attempt: number): Readonly<Record<string, string>> {
  return {
    [labelNames.podName]: ref.name,
    [labelNames.podNamespace]: ref.namespace,
    [labelNames.podUid]: ref.uid,
    ...ownerLabels(owner),
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

/** What names a pod in its labels; `undefined` for what is none of ours. */
export function tryPodRef(labels: Readonly<Record<string, string>>): PodRef | undefined {
  const uid = labels[labelNames.podUid];
  const name = labels[labelNames.podName];
  const namespace = labels[labelNames.podNamespace];
  return uid && name && namespace ? { namespace, name, uid } : undefined;
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

/**
 * What has to be known of a container when the pod's spec is gone, or has changed since: how it was to live, from which
 * image, with which resources, and how it is ended.
 */
export function originLabels(role: string, container: DeepReadonly<Container>): Readonly<Record<string, string>> {
  const { image = "", resources, lifecycle, ports } = container;
  const { preStop, stopSignal } = lifecycle ?? {};
  return {
    [labelNames.role]: role,
    [labelNames.image]: image,
    ...(resources && { [labelNames.resources]: JSON.stringify(resources) }),
    ...((preStop || stopSignal) && { [labelNames.lifecycle]: JSON.stringify({ lifecycle: { preStop, stopSignal }, ports }) }),
  };
}

/** The container that {@link originLabels} were written of, as far as they tell; nothing malformed is believed. */
export function readOrigin(labels: Readonly<Record<string, string>>): Pick<Container, "image" | "resources" | "lifecycle" | "ports"> {
  const ending = tryObject(labels[labelNames.lifecycle]);
  const resources = tryObject(labels[labelNames.resources]);
  return {
    image: labels[labelNames.image] ?? "",
    ...(resources && { resources }),
    ...ending,
  };
}

function tryObject(json: string | undefined): object | undefined {
  if (json === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
