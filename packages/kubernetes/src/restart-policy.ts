const restartAllContainers = "RestartAllContainers";

/** The part of a container that decides on its restarts. */
export interface RestartableContainer {
  readonly restartPolicy?: string | undefined;
  readonly restartPolicyRules?:
    | readonly {
        readonly action: string;
        readonly exitCodes?: { readonly operator: string; readonly values?: readonly number[] | undefined } | undefined;
      }[]
    | undefined;
}

/** Whether an init container is a sidecar: it starts in its turn, and runs as long as the pod. */
export function isSidecar(container: Pick<RestartableContainer, "restartPolicy">): boolean {
  return container.restartPolicy === "Always";
}

/**
 * Whether a container that ended with this exit code is to be started again: the first matching rule of the container
 * decides, then its own policy, then the pod's.
 * Source: ContainerShouldRestart in kubernetes v1.36.3 pkg/api/v1/pod/util.go.
 */
export function shouldRestart(
  container: RestartableContainer,
  spec: { readonly restartPolicy?: string | undefined },
  exitCode: number,
): boolean {
  if (container.restartPolicy && matchesRestartRule(container, exitCode)) return true;
  switch (container.restartPolicy ?? spec.restartPolicy) {
    case "Never":
      return false;
    case "OnFailure":
      return exitCode !== 0;
    default:
      return true;
  }
}

/** The part of a pod's spec that decides on restarts of all its containers. */
export interface RestartableContainers {
  readonly initContainers?: readonly RestartableContainer[] | undefined;
  readonly containers: readonly RestartableContainer[];
}

/**
 * Whether a rule of one container can restart all containers of the pod, so that each may run again whatever its own policy says.
 * Source: AllContainersCouldRestart in kubernetes v1.36.3 pkg/api/v1/pod/util.go.
 */
export function allContainersCouldRestart({ initContainers = [], containers }: RestartableContainers): boolean {
  return [...initContainers, ...containers].some(({ restartPolicyRules = [] }) =>
    restartPolicyRules.some(({ action }) => action === restartAllContainers),
  );
}

function matchesRestartRule(container: RestartableContainer, exitCode: number): boolean {
  const rule = container.restartPolicyRules?.find(({ exitCodes }) => {
    if (!exitCodes) return false;
    const isListed = exitCodes.values?.includes(exitCode) ?? false;
    return exitCodes.operator === "In" ? isListed : exitCodes.operator === "NotIn" && !isListed;
  });
  return rule?.action === "Restart" || rule?.action === restartAllContainers;
}
