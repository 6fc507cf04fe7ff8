import type { ConfigMap, DeepReadonly, Secret } from "@virtual-kubelet/kube-client";
import type { ClaimedVolume } from "./claimed-volume.ts";
import type { VolumePayload } from "./volume-payload.ts";

/** One environment variable, resolved. */
export interface ResolvedEnvVar {
  readonly name: string;
  readonly value: string;
}

/** Facts about a pod that the provider may know before the API server does. */
export interface KnownOfPod {
  /** The pod's addresses, the main one first. Default: those in the pod's status. */
  readonly podIPs?: readonly string[] | undefined;
}

/**
 * A pod's references, resolved. All methods are lazy: nothing is fetched before a method is called, and a second call fetches nothing. The
 * values may hold secrets; they are never logged, and never sent to the API server.
 *
 * A reference that cannot be resolved throws. Let the error pass through `createPod` and `updatePod`, as it is or as a `cause`. The pod
 * then waits, as `CreateContainerConfigError` for its environment and as `ContainerCreating` for its volumes, and is
 * retried, at once when the missing object appears:
 * - InvalidInputError: a mandatory secret, config map or key is missing, or a field path does not exist;
 * - UnavailableError: the API server cannot be reached, or the pod refers to an address that it does not have yet;
 * - ForbiddenError: the node may not read the object.
 *
 * The object passed to `createPod` or `updatePod` shows the pod at the time of the call. {@link ProviderHost.resolvePod} returns a newer
 * one, for example for a restart of a container, or after a restart of the program.
 */
export interface ResolvedPod {
  /**
   * Returns the container's environment: `env`, `envFrom` and service variables with every reference resolved, in a kubelet's order.
   *
   * @param container - name of a container, init container or ephemeral container of the pod
   * @param known - facts that replace the API server's, such as an address that the pod has only just received
   */
  environment(container: string, signal: AbortSignal, known?: KnownOfPod): Promise<readonly ResolvedEnvVar[]>;
  /** Returns the container's command and arguments with `$(VAR)` expanded from its {@link environment}. */
  commandLine(
    container: string,
    signal: AbortSignal,
    known?: KnownOfPod,
  ): Promise<{ readonly command: readonly string[]; readonly args: readonly string[] }>;
  /**
   * Returns the files of a volume of type configMap, secret, downwardAPI or projected. The provider itself fills volumes of other types.
   *
   * @param name - of the volume in the pod's spec
   * @throws InvalidInputError also if there is no such volume of one of these types; UnsupportedError for a source that is not
   * supported, which leaves the pod waiting as `ProviderUnsupported`
   */
  volume(name: string, signal: AbortSignal): Promise<VolumePayload>;
  /**
   * Follows a volume of {@link volume}: yields the files as soon as they can be read, and again whenever they differ from the previous
   * ones, seconds after a change. Service account tokens are renewed before they expire. While the content cannot be
   * read (because a secret was deleted, for example) nothing is yielded, an event on the pod gives the reason, and the written files stay.
   * Ends when the pod has ended or is gone. A slow reader gets only the latest files.
   *
   * @throws as {@link volume} for a volume that can never be read; `signal.reason` when aborted
   */
  watchVolume(name: string, signal: AbortSignal): AsyncIterable<VolumePayload>;
  /**
   * Reads the PersistentVolume behind a volume of type persistentVolumeClaim or ephemeral, anew on each call. While the claim is not
   * bound, or the volume cannot be reached from the node, it throws, and an event on the pod gives the reason, as with a kubelet; call it
   * again later. No notification follows, because a node may not watch claims.
   *
   * Absent when there is no cluster, such as in a plan.
   *
   * @param name - of the volume in the pod's spec
   * @throws InvalidInputError also if there is no such volume of one of these types
   */
  claimedVolume?(name: string, signal: AbortSignal): Promise<ClaimedVolume>;
  /**
   * Reads a config map of the pod's namespace as it is now, for a back end that mounts such objects itself. It is watched from then on until
   * the pod has ended, even if it is missing: {@link ProviderHost.onConfigChanged} tells when it appears, changes or goes. Unlike
   * in the other methods, a missing object is an error that the caller has to judge.
   *
   * @throws NotFoundError if there is none, ForbiddenError if the node may not read it, UnavailableError
   */
  configMap(name: string, signal: AbortSignal): Promise<DeepReadonly<ConfigMap>>;
  /** Reads a secret of the pod's namespace, as {@link configMap}. The Node authorizer allows only secrets that the pod names. */
  secret(name: string, signal: AbortSignal): Promise<DeepReadonly<Secret>>;
  /**
   * Returns the variables with the addresses of services that a kubelet adds to each container's environment, in its order: the API server's,
   * unless `enableServiceLinks` is false also those of the services in the pod's namespace. Variables that the container sets itself take
   * precedence. They are part of {@link environment}.
   *
   * @throws UnavailableError, ForbiddenError
   */
  serviceVariables(signal: AbortSignal): Promise<readonly ResolvedEnvVar[]>;
}
