import type { Container, DeepReadonly, Pod, RegistryEntry, ResolvedEnvVar, ResolvedPod, VolumeFile } from "@virtual-kubelet/core";
import { volumeFields } from "@virtual-kubelet/remote-pods";
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

/** All containers of the pod that run, in the order of their start. */
export function containersOf({ spec }: DeepReadonly<Pod>): readonly DeepReadonly<Container>[] {
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
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
  for (const { name } of volumeFields(pod)) files.set(name, (await resolved.volume(name, signal)).files);
  const isLoggedIn = driver === "docker" && config.imagePullSecrets === "use" && Boolean(pod.spec?.imagePullSecrets?.length);
  return { environments, files, logins: isLoggedIn ? pullCredentialsOf(pod, await pullSecrets(signal)) : new Map() };
}
