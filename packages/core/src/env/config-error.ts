import {
  ForbiddenError,
  InvalidInputError,
  UnauthorizedError,
  UnavailableError,
  codeOf,
  messageOf,
  type VirtualKubeletError,
} from "@virtual-kubelet/errdefs";

/** A kubelet's waiting reason for containers whose configuration cannot be resolved. */
const configErrorReason = "CreateContainerConfigError";

/** Maximum length of a chain of causes; a longer one is a loop. */
const maxCauses = 32;

/**
 * Returns the waiting reason of containers for an error, if it or one of its causes has one. For all errors of a
 * `ResolvedPod` it is `CreateContainerConfigError`, for all others `undefined`.
 */
export function waitingReasonOf(error: unknown): string | undefined {
  let current = error;
  for (let depth = 0; depth < maxCauses && typeof current === "object" && current !== null; depth++) {
    const { waitingReason, cause } = current as { waitingReason?: unknown; cause?: unknown };
    if (typeof waitingReason === "string") return waitingReason;
    current = cause;
  }
  return undefined;
}

/** An object that a pod refers to is missing or invalid; the pod waits until that changes. */
export function missingConfig(message: string, cause?: unknown): VirtualKubeletError {
  return withReason(new InvalidInputError(message, { cause }));
}

/** A value that a pod refers to is not known yet. */
export function unknownYet(message: string): VirtualKubeletError {
  return withReason(new UnavailableError(message));
}

/** An object that a pod refers to could not be read; the error keeps the code of its cause if that determines the handling. */
export function unreadableConfig(message: string, cause: unknown): VirtualKubeletError {
  const text = `${message}: ${messageOf(cause)}`;
  switch (codeOf(cause)) {
    case "VK_FORBIDDEN":
      return withReason(new ForbiddenError(text, { cause }));
    case "VK_UNAUTHORIZED":
      return withReason(new UnauthorizedError(text, { cause }));
    default:
      return withReason(new UnavailableError(text, { cause }));
  }
}

function withReason(error: VirtualKubeletError): VirtualKubeletError {
  return Object.assign(error, { waitingReason: configErrorReason });
}
