import type { Container as ApiContainer, DeepReadonly, Pod } from "@virtual-kubelet/core";

/** A volume in a container. */
export interface Mount {
  readonly volume: string;
  readonly path: string;
  readonly subPath: string | undefined;
  readonly readOnly: boolean;
}

/** The little of a container's spec that its logs, commands and streams need; it is kept for as long as the pod is. */
export interface Surroundings {
  readonly ports: readonly number[];
  readonly mounts: readonly Mount[];
  readonly workingDir: string | undefined;
  readonly tty: boolean;
}

const none: ReadonlyMap<string, Surroundings> = new Map();
const plain: Surroundings = { ports: [], mounts: [], workingDir: undefined, tty: false };

/** The surroundings of a pod's containers by name; those that have none of their own are not in it. */
export function surroundingsOf({ spec }: DeepReadonly<Pod>): ReadonlyMap<string, Surroundings> {
  const surroundings = new Map<string, Surroundings>();
  for (const container of [...(spec?.initContainers ?? []), ...(spec?.containers ?? []), ...(spec?.ephemeralContainers ?? [])]) {
    const own = surroundingsOfContainer(container);
    if (own !== plain) surroundings.set(container.name, own);
  }
  // Pods are many, and most have nothing to keep here.
  return surroundings.size > 0 ? surroundings : none;
}

/** The surroundings of a container that needs none. */
export function plainSurroundings(): Surroundings {
  return plain;
}

/** The volumes whose content comes from the cluster; all others are empty at first. */
export function payloadVolumesOf({ spec }: DeepReadonly<Pod>): readonly string[] {
  const volumes = spec?.volumes ?? [];
  return volumes
    .filter(({ configMap, secret, downwardAPI, projected }) => configMap ?? secret ?? downwardAPI ?? projected)
    .map(({ name }) => name);
}

function surroundingsOfContainer({ ports, volumeMounts, workingDir, tty }: DeepReadonly<ApiContainer>): Surroundings {
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
