import type { Container, DeepReadonly, PodSpec } from "@virtual-kubelet/kube-client";

/** Whether an init container is a sidecar: it starts in its turn, and runs as long as the pod. */
export function isSidecar(container: DeepReadonly<Container>): boolean {
  return container.restartPolicy === "Always";
}

/**
 * Whether a container that ended with this exit code is to be started again: the first matching rule of the container
 * decides, then its own policy, then the pod's.
 * Source: ContainerShouldRestart in kubernetes v1.36.3 pkg/api/v1/pod/util.go.
 */
export function shouldRestart(container: DeepReadonly<Container>, spec: DeepReadonly<PodSpec>, exitCode: number): boolean {
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

function matchesRestartRule(container: DeepReadonly<Container>, exitCode: number): boolean {
  const rule = container.restartPolicyRules?.find(({ exitCodes }) => {
    if (!exitCodes) return false;
    const isListed = exitCodes.values?.includes(exitCode) ?? false;
    return exitCodes.operator === "In" ? isListed : exitCodes.operator === "NotIn" && !isListed;
  });
  return rule?.action === "Restart";
}
