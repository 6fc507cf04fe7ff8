/**
 * What a provider supports. A pod that needs more stays Pending with reason `ProviderUnsupported`; the capability
 * matrix in the docs is made from this. An absent entry is `false`.
 */
export interface Capabilities {
  readonly initContainers?: boolean;
  /** Init containers with `restartPolicy: Always`. */
  readonly sidecarContainers?: boolean;
  readonly ephemeralContainers?: boolean;
  /** More than one container in a pod. */
  readonly multipleContainers?: boolean;
  /** Environment variables, from any source. */
  readonly env?: boolean;
  readonly probes?: boolean;
  readonly lifecycleHooks?: boolean;
  /** `spec.restartPolicy: Always` and `OnFailure`, run by the back end. */
  readonly restarts?: boolean;
  readonly hostNetwork?: boolean;
  readonly hostPorts?: boolean;
  /** `hostPID`, `hostIPC` and `shareProcessNamespace`. */
  readonly sharedNamespaces?: boolean;
  readonly securityContext?: boolean;
  readonly privileged?: boolean;
  readonly gpus?: boolean;
  /** Volume sources that work, by their field's name: `emptyDir`, `configMap`, `secret`, `projected`, … */
  readonly volumes?: readonly string[];
  readonly operatingSystems?: readonly ("linux" | "windows")[];
  /** Changes of a running pod's resources. Without, the provider is not told of them, and the pod says that they are Infeasible. */
  readonly resize?: boolean;
}
