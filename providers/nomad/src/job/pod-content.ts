import type { Container, DeepReadonly, Pod, RegistryEntry, ResolvedEnvVar, ResolvedPod, VolumeFile } from "@virtual-kubelet/core";
import { pullCredentialsOf, type PullCredentials } from "./pull-credentials.ts";
import type { JobSettings } from "./settings.ts";

/** Resolved references of a pod. Holds secrets. */
export interface PodContent {
  /** The environment of each container, by its name. */
  readonly environments: ReadonlyMap<string, readonly ResolvedEnvVar[]>;
  /** Files of each volume from the cluster's objects, by name. */
  readonly files: ReadonlyMap<string, readonly VolumeFile[]>;
  /** Credentials for the images of containers, by the containers' names. */
  readonly logins: ReadonlyMap<string, PullCredentials>;
}

/** Volume sources whose files core resolves. */
const fileSources = ["configMap", "secret", "downwardAPI", "projected"] as const;

/** All containers of the pod that run, in the order of their start. */
export function containersOf({ spec }: DeepReadonly<Pod>): readonly DeepReadonly<Container>[] {
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
}

/** Names of the pod's volumes whose files core resolves, and which some container mounts. */
function fileVolumesOf(pod: DeepReadonly<Pod>): readonly string[] {
  const mounted = new Set(containersOf(pod).flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name)));
  return (pod.spec?.volumes ?? [])
    .filter((volume) => mounted.has(volume.name) && fileSources.some((source) => volume[source]))
    .map(({ name }) => name);
}

/** Whether a volume's files come from a secret, or hold a token. */
export function isConfidentialVolume(pod: DeepReadonly<Pod>, name: string): boolean {
  const volume = pod.spec?.volumes?.find((each) => each.name === name);
  return (
    Boolean(volume?.secret) ||
    (volume?.projected?.sources?.some(({ secret, serviceAccountToken }) => secret ?? serviceAccountToken) ?? false)
  );
}

/** Sources of a pod's contents. */
export interface ContentSources {
  readonly resolved: ResolvedPod;
  /** Reads the pod's `imagePullSecrets`. */
  readonly pullSecrets: (signal: AbortSignal) => Promise<readonly RegistryEntry[]>;
}

/** Resolves all references of the pod. @throws what the sources throw; UnsupportedError for credentials that Nomad does not take */
export async function readPodContent(
  pod: DeepReadonly<Pod>,
  { driver, config }: JobSettings,
  { resolved, pullSecrets }: ContentSources,
  signal: AbortSignal,
): Promise<PodContent> {
  const environments = new Map<string, readonly ResolvedEnvVar[]>();
  for (const { name } of containersOf(pod)) environments.set(name, await resolved.environment(name, signal));
  const files = new Map<string, readonly VolumeFile[]>();
  for (const name of fileVolumesOf(pod)) files.set(name, (await resolved.volume(name, signal)).files);
  const isLoggedIn = driver === "docker" && config.imagePullSecrets === "use" && Boolean(pod.spec?.imagePullSecrets?.length);
  return { environments, files, logins: isLoggedIn ? pullCredentialsOf(pod, await pullSecrets(signal)) : new Map() };
}
