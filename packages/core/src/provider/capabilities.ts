/**
 * Features that a provider supports. A pod that needs more stays Pending with reason `ProviderUnsupported`. The capability
 * matrix in the documentation is generated from this. Default of each field: `false`.
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
  /** Supported volume sources by field name: `emptyDir`, `configMap`, `secret`, `projected`, … */
  readonly volumes?: readonly string[];
  readonly operatingSystems?: readonly ("linux" | "windows")[];
  /** Changes of a running pod's resources. Without it the pod's status reports them as Infeasible. */
  readonly resize?: boolean;
}
