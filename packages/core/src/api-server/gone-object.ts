import { isNotFound } from "@virtual-kubelet/errdefs";
import { statusOf, type Resource } from "@virtual-kubelet/kube-client";

/**
 * Whether the API server itself says that there is no such object. Any 404 will not do: a load balancer's default backend, or
 * a proxy, answers so in the API server's place. Source: apimachinery `api/errors`, `NewNotFound`.
 */
export function isGoneObject(error: unknown, resource: Resource<object>, name: string): boolean {
  if (!isNotFound(error)) return false;
  const status = statusOf(error);
  return status?.reason === "NotFound" && status.details?.kind === resource.plural && status.details.name === name;
}
