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
 * then waits with the reason `CreateContainerConfigError`, and is tried again:
 * - InvalidInputError: a mandatory secret, config map or key is missing, or a field is none;
 * - UnavailableError: the API server cannot be reached, or the pod asks for an address it does not have yet;
 * - ForbiddenError: the node may not read it.
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
}
