import type { Container, DeepReadonly, Owner, PodRef } from "@virtual-kubelet/core";

/** Labels of every object at the runtime. The first five are a kubelet's own, which other tools know. */
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

/** Identity of a container within its pod. */
export interface ContainerIdentity {
  readonly container: string;
  /** Number of the start, from 0: the container's restart count. */
  readonly attempt: number;
  readonly specHash: string;
}

/** Labels that select all objects of an owner. */
export function ownerLabels(owner: Owner): Readonly<Record<string, string>> {
  return { [labelNames.cluster]: owner.clusterId, [labelNames.node]: owner.nodeName };
}

/** Labels of a pod's sandbox. The attempt counts the pod's sandboxes. */
export function podLabels(ref: PodRef, owner: Owner, attempt: number): Readonly<Record<string, string>> {
  return {
    [labelNames.podName]: ref.name,
    [labelNames.podNamespace]: ref.namespace,
    [labelNames.podUid]: ref.uid,
    ...ownerLabels(owner),
    [labelNames.attempt]: String(attempt),
  };
}

/** Labels of a container at the runtime: those of its pod, its name and the hash of its spec. */
export function containerLabels(ref: PodRef, owner: Owner, identity: ContainerIdentity): Readonly<Record<string, string>> {
  return {
    ...podLabels(ref, owner, identity.attempt),
    [labelNames.container]: identity.container,
    [labelNames.specHash]: identity.specHash,
  };
}

/** The pod in the labels; `undefined` for objects of others. */
export function tryPodRef(labels: Readonly<Record<string, string>>): PodRef | undefined {
  const uid = labels[labelNames.podUid];
  const name = labels[labelNames.podName];
  const namespace = labels[labelNames.podNamespace];
  return uid && name && namespace ? { namespace, name, uid } : undefined;
}

/** The container in the labels; `undefined` for objects of others. */
export function tryContainerIdentity(labels: Readonly<Record<string, string>>): ContainerIdentity | undefined {
  const container = labels[labelNames.container];
  const attempt = tryAttempt(labels);
  if (container === undefined || attempt === undefined) return undefined;
  return { container, attempt, specHash: labels[labelNames.specHash] ?? "" };
}

/** The attempt in the labels; `undefined` if it is missing or malformed. */
export function tryAttempt(labels: Readonly<Record<string, string>>): number | undefined {
  const text = labels[labelNames.attempt];
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

/** The fields of a container that are needed once the pod's spec is gone or has changed: role, image, resources, and how it is stopped. */
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

/** The container from the labels of {@link originLabels}. Malformed labels are ignored. */
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
