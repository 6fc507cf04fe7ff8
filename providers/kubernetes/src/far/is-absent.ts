import { isNotFound } from "@virtual-kubelet/errdefs";
import { statusOf, type Resource } from "@virtual-kubelet/kube-client";

/** Whether the far API server itself says that the object does not exist; a proxy in its place may answer 404, too. */
export function isAbsent(error: unknown, { plural }: Resource<object>, name: string): boolean {
  if (!isNotFound(error)) return false;
  const { reason, details } = statusOf(error) ?? {};
  return reason === "NotFound" && details?.kind === plural && details.name === name;
}
