/** One environment variable, resolved. */
export interface ResolvedEnvVar {
  readonly name: string;
  readonly value: string;
}

/**
 * What a pod's references come to. All of it is lazy: nothing is fetched unless asked for, and asking twice fetches
 * once. What it returns may hold secrets; it is never logged, and never sent to the API server.
 */
export interface ResolvedPod {
  /**
   * The container's environment: `env`, `envFrom` and service variables with every reference resolved, in the order
   * a kubelet gives them.
   *
   * @param container - name of a container, init container or ephemeral container of the pod
   * @throws InvalidInputError when a mandatory secret, config map or key is missing: the pod waits with
   * `CreateContainerConfigError` until it is there. Let it pass through `createPod` and `updatePod`.
   */
  environment(container: string, signal: AbortSignal): Promise<readonly ResolvedEnvVar[]>;
  /** The container's command and arguments with `$(VAR)` expanded from its {@link environment}. */
  commandLine(container: string, signal: AbortSignal): Promise<{ readonly command: readonly string[]; readonly args: readonly string[] }>;
}
