import type { Container as ApiContainer, DeepReadonly, Pod } from "@virtual-kubelet/core";

/** A volume in a container. */
export interface Mount {
  readonly volume: string;
  readonly path: string;
  readonly subPath: string | undefined;
  readonly readOnly: boolean;
}

/** The little of a container's spec that its logs, commands and streams need; it is kept for as long as the pod is. */
export interface ContainerSpec {
  readonly ports: readonly number[];
  readonly mounts: readonly Mount[];
  readonly workingDir: string | undefined;
  readonly tty: boolean;
}

const none: ReadonlyMap<string, ContainerSpec> = new Map();
const plain: ContainerSpec = { ports: [], mounts: [], workingDir: undefined, tty: false };

/** The spec of a pod's containers by name; those that have none of their own are not in it. */
export function containerSpecsOf({ spec }: DeepReadonly<Pod>): ReadonlyMap<string, ContainerSpec> {
  const specs = new Map<string, ContainerSpec>();
  for (const container of [...(spec?.initContainers ?? []), ...(spec?.containers ?? []), ...(spec?.ephemeralContainers ?? [])]) {
    const own = neededSpecOf(container);
    if (own !== plain) specs.set(container.name, own);
  }
  // Pods are many, and most have nothing to keep here.
  return specs.size > 0 ? specs : none;
}

/** The spec of a container that needs none. */
export function emptyContainerSpec(): ContainerSpec {
  return plain;
}

/** The volumes whose content comes from the cluster; all others are empty at first. */
export function payloadVolumesOf({ spec }: DeepReadonly<Pod>): readonly string[] {
  const volumes = spec?.volumes ?? [];
  return volumes
    .filter(({ configMap, secret, downwardAPI, projected }) => configMap ?? secret ?? downwardAPI ?? projected)
    .map(({ name }) => name);
}

function neededSpecOf({ ports, volumeMounts, workingDir, tty }: DeepReadonly<ApiContainer>): ContainerSpec {
  if (!ports?.length && !volumeMounts?.length && !workingDir && !tty) return plain;
  return {
    ports: (ports ?? []).filter(({ protocol }) => (protocol ?? "TCP") === "TCP").map(({ containerPort }) => containerPort),
    mounts: (volumeMounts ?? []).map(({ name, mountPath, subPath, readOnly }) => ({
      volume: name,
      path: mountPath,
      subPath,
      readOnly: readOnly ?? false,
    })),
    workingDir,
    tty: tty ?? false,
  };
}
