import type { ClaimedVolume } from "../volumes/claimed-volume.ts";
import type { VolumePayload } from "../volumes/volume-payload.ts";

/** One environment variable, resolved. */
export interface ResolvedEnvVar {
  readonly name: string;
  readonly value: string;
}

/** What the provider may know of a pod before the API server does. */
export interface KnownOfPod {
  /** The pod's addresses, its main one first. Default: those in the pod's status. */
  readonly podIPs?: readonly string[] | undefined;
}

/**
 * What a pod's references come to. All of it is lazy: nothing is fetched unless asked for, and asking twice fetches
 * once. What it returns may hold secrets; it is never logged, and never sent to the API server.
 *
 * What cannot be resolved is thrown; let it pass through `createPod` and `updatePod`, as it is or as a `cause`. The pod
 * then waits, as `CreateContainerConfigError` for its environment and as `ContainerCreating` for its volumes, and is
 * tried again, at once when what is missing comes:
 * - InvalidInputError: a mandatory secret, config map or key is missing, or a field is none;
 * - UnavailableError: the API server cannot be reached, or the pod asks for an address it does not have yet;
 * - ForbiddenError: the node may not read it.
 *
 * One that is handed to `createPod` or `updatePod` shows the pod as it was then. {@link ProviderHost.resolvePod} makes
 * another, such as for a container that is started anew, or after a restart of the program.
 */
export interface ResolvedPod {
  /**
   * The container's environment: `env`, `envFrom` and service variables with every reference resolved, in the order
   * a kubelet gives them.
   *
   * @param container - name of a container, init container or ephemeral container of the pod
   * @param known - what to use in place of what the API server knows; such as an address the pod has only just got
   */
  environment(container: string, signal: AbortSignal, known?: KnownOfPod): Promise<readonly ResolvedEnvVar[]>;
  /** The container's command and arguments with `$(VAR)` expanded from its {@link environment}. */
  commandLine(
    container: string,
    signal: AbortSignal,
    known?: KnownOfPod,
  ): Promise<{ readonly command: readonly string[]; readonly args: readonly string[] }>;
  /**
   * The files of a volume of type configMap, secret, downwardAPI or projected. What other volumes hold is the
   * provider's affair.
   *
   * @param name - of the volume in the pod's spec
   * @throws InvalidInputError also for a name that is none of such a volume; UnsupportedError for a source that is not
   * supported, which leaves the pod waiting as `ProviderUnsupported`
   */
  volume(name: string, signal: AbortSignal): Promise<VolumePayload>;
  /**
   * The same, followed: gives the files as soon as they can be had, and again whenever they differ from those before,
   * which is seconds after a change. Service account tokens come anew before they expire. While the content cannot be
   * had (a secret was deleted, say) nothing comes, and an event on the pod tells why: what was written stays. Ends when
   * the pod has ended or is gone. Who reads slowly gets the latest only.
   *
   * @throws as {@link volume} for a volume that can never be read; `signal.reason` when aborted
   */
  watchVolume(name: string, signal: AbortSignal): AsyncIterable<VolumePayload>;
  /**
   * The PersistentVolume behind a volume of type persistentVolumeClaim or ephemeral, read anew each time. While the claim is missing or not
   * bound, or the volume cannot be reached from the node, it throws and an event on the pod says why, as a kubelet does; ask again
   * later. Nothing tells when it can be had: a node may not watch claims.
   *
   * Absent where there is no cluster to ask, such as in a plan.
   *
   * @param name - of the volume in the pod's spec
   * @throws InvalidInputError also for a name that is none of such a volume
   */
  claimedVolume?(name: string, signal: AbortSignal): Promise<ClaimedVolume>;
}
