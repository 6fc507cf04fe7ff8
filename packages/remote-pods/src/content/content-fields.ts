import type { Container, DeepReadonly, Pod } from "@virtual-kubelet/core";

/** A container or init container with the path of its field. */
export interface ContainerField {
  readonly container: DeepReadonly<Container>;
  /** Such as `spec.initContainers[0]`. */
  readonly path: string;
}

/** A volume that core resolves, with the path of its source. */
export interface VolumeField {
  readonly name: string;
  /** Such as `spec.volumes[1].secret`. */
  readonly path: string;
  /** Whether its files may hold secrets. */
  readonly isSensitive: boolean;
}

/** Returns the init containers and containers of a pod. Ephemeral containers are added to a running pod, not at its creation. */
export function containerFields({ spec }: DeepReadonly<Pod>): ContainerField[] {
  const lists = { initContainers: spec?.initContainers ?? [], containers: spec?.containers ?? [] };
  return Object.entries(lists).flatMap(([list, containers]) =>
    containers.map((container, index) => ({ container, path: `spec.${list}[${index}]` })),
  );
}

/**
 * Returns the volumes whose files `ResolvedPod.volume` returns, and which a container mounts. A kubelet ignores the others, so that a missing secret
 * of theirs stops no pod. Source: kubernetes v1.36.3 pkg/kubelet/volumemanager/populator/desired_state_of_world_populator.go.
 */
export function volumeFields(pod: DeepReadonly<Pod>): VolumeField[] {
  const mounted = new Set(containerFields(pod).flatMap(({ container: { volumeMounts = [] } }) => volumeMounts.map(({ name }) => name)));
  return (pod.spec?.volumes ?? []).flatMap(({ name, configMap, secret, downwardAPI, projected }, index) => {
    const [source] = Object.entries({ configMap, secret, downwardAPI, projected }).find(([, value]) => value) ?? [];
    if (source === undefined || !mounted.has(name)) return [];
    const isSensitive = secret !== undefined || (projected?.sources ?? []).some((each) => each.secret ?? each.serviceAccountToken);
    return [{ name, path: `spec.volumes[${index}].${source}`, isSensitive }];
  });
}

/** Returns the path of the field that a variable comes from: its entry, the sources of many, or the addresses of services. */
export function variablePath({ container, path }: ContainerField, name: string): string {
  const index = (container.env ?? []).findLastIndex((entry) => entry.name === name);
  if (index >= 0) return `${path}.env[${index}]`;
  return (container.envFrom ?? []).length > 0 ? `${path}.envFrom` : "spec.enableServiceLinks";
}

/**
 * Whether a variable may hold a secret: it comes from one, or from sources of which one is a secret, or its value refers to other variables
 * while the container has such ones.
 */
export function isSensitive({ container: { env = [], envFrom = [] } }: ContainerField, name: string): boolean {
  const hasSecrets = envFrom.some(({ secretRef }) => secretRef) || env.some(({ valueFrom }) => valueFrom?.secretKeyRef);
  const entry = env.findLast((each) => each.name === name);
  if (entry === undefined) return envFrom.some(({ secretRef }) => secretRef);
  return entry.valueFrom?.secretKeyRef !== undefined || (hasSecrets && (entry.value ?? "").includes("$("));
}
