import type { Container as ApiContainer, DeepReadonly, Pod } from "@virtual-kubelet/core";

/** A volume in a container. */
interface Mount {
  readonly volume: string;
  readonly path: string;
  readonly subPath: string | undefined;
  readonly readOnly: boolean;
}

/** Fields of a container's spec that logs, commands and streams use, kept for the lifetime of the pod. */
export interface ContainerSpec {
  readonly ports: readonly number[];
  readonly mounts: readonly Mount[];
  readonly workingDir: string | undefined;
  readonly tty: boolean;
}

const none: ReadonlyMap<string, ContainerSpec> = new Map();
const plain: ContainerSpec = { ports: [], mounts: [], workingDir: undefined, tty: false };

/** Specs of a pod's containers by name. Containers without any of these fields are left out. */
export function containerSpecsOf({ spec }: DeepReadonly<Pod>): ReadonlyMap<string, ContainerSpec> {
  const specs = new Map<string, ContainerSpec>();
  for (const container of [...(spec?.initContainers ?? []), ...(spec?.containers ?? []), ...(spec?.ephemeralContainers ?? [])]) {
    const own = neededSpecOf(container);
    if (own !== plain) specs.set(container.name, own);
  }
  // Saves memory, because there may be many pods and most have none of these fields.
  return specs.size > 0 ? specs : none;
}

/** Spec of a container without any of these fields. */
export function emptyContainerSpec(): ContainerSpec {
  return plain;
}

/** Volumes whose content comes from the cluster. All others are empty initially. */
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
