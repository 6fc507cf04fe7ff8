import type { Container, DeepReadonly, Pod } from "@virtual-kubelet/core";
import { InvalidInputError } from "@virtual-kubelet/errdefs";

const maxUserId = 2_147_483_647;

/** Whether `runAsNonRoot` of the container depends on the image's user. */
export function needsImageUser(pod: DeepReadonly<Pod>, container: DeepReadonly<Container>): boolean {
  return mustNotBeRoot(pod, container) && runAsUser(pod, container) === undefined;
}

/**
 * Refuses a container with `runAsNonRoot` that would run as root, or whose user is unknown, in a kubelet's words. Source:
 * verifyRunAsNonRoot in kubernetes v1.36.3 pkg/kubelet/kuberuntime/security_context_others.go.
 *
 * @param imageUser - the image's user, such as `app`, `1000` or `1000:1000`; `undefined`: root
 * @throws InvalidInputError
 */
export function checkRunAsNonRoot(pod: DeepReadonly<Pod>, container: DeepReadonly<Container>, imageUser: string | undefined): void {
  if (!mustNotBeRoot(pod, container)) return;
  const { name, namespace, uid } = pod.metadata ?? {};
  const where = `(pod: "${name}_${namespace}(${uid})", container: ${container.name})`;
  const user = runAsUser(pod, container);
  if (user === 0) throw new InvalidInputError(`container's runAsUser breaks non-root policy ${where}`);
  if (user !== undefined) return;

  const [imageName = ""] = (imageUser ?? "").split(":", 1);
  if (imageName === "" || /^0+$/.test(imageName)) {
    throw new InvalidInputError(`container has runAsNonRoot and image will run as root ${where}`);
  }
  if (!/^\d+$/.test(imageName)) {
    throw new InvalidInputError(
      `container has runAsNonRoot and image has non-numeric user (${imageName}), cannot verify user is non-root ${where}`,
    );
  }
  if (Number(imageName) > maxUserId) {
    throw new InvalidInputError(
      `container has runAsNonRoot and image has an invalid user id (${imageName}). (Must be 1-(${maxUserId})): must be between 0 and ${maxUserId}, inclusive ${where}`,
    );
  }
}

function mustNotBeRoot({ spec }: DeepReadonly<Pod>, { securityContext }: DeepReadonly<Container>): boolean {
  return securityContext?.runAsNonRoot ?? spec?.securityContext?.runAsNonRoot ?? false;
}

function runAsUser({ spec }: DeepReadonly<Pod>, { securityContext }: DeepReadonly<Container>): number | undefined {
  return securityContext?.runAsUser ?? spec?.securityContext?.runAsUser;
}
