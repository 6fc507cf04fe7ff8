import { isForbidden, isInvalidInput } from "@virtual-kubelet/errdefs";

/** Whether the API server refused a request because of its sender or its content. An overloaded server, or one that is away, refuses nothing. */
export function isRefusedRequest(error: unknown): boolean {
  return isForbidden(error) || isInvalidInput(error);
}
