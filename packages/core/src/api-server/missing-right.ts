import { isForbidden } from "@virtual-kubelet/errdefs";
import { statusOf } from "@virtual-kubelet/kube-client";

/**
 * Whether the API server refused a request because its user lacks the right, rather than because of its content: an admission
 * plugin does the latter, and may accept a request with fewer changes.
 *
 * Source: kubernetes v1.36.3 apiserver pkg/endpoints/handlers/responsewriters/errors.go, forbiddenMessage.
 */
export function isMissingRight(error: unknown): boolean {
  return isForbidden(error) && /\bUser ".*" cannot \S+ (resource|path) "/.test(statusOf(error)?.message ?? "");
}
