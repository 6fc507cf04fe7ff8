import {
  ForbiddenError,
  InvalidInputError,
  UnauthorizedError,
  UnavailableError,
  codeOf,
  messageOf,
  type VirtualKubeletError,
} from "@virtual-kubelet/errdefs";

/** The reason a kubelet gives containers whose configuration cannot be put together. */
const configErrorReason = "CreateContainerConfigError";

/** How deep a chain of causes is followed; a longer one is a loop. */
const maxCauses = 32;

/**
 * The waiting reason containers get for an error, if it, or one of its causes, names one: for all errors of a
 * `ResolvedPod`, `CreateContainerConfigError`. `undefined` for all others.
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

/** What a pod refers to is missing or contradicts itself; it waits until that changes. */
export function missingConfig(message: string, cause?: unknown): VirtualKubeletError {
  return withReason(new InvalidInputError(message, { cause }));
}

/** What a pod refers to is not known yet, and will be. */
export function unknownYet(message: string): VirtualKubeletError {
  return withReason(new UnavailableError(message));
}

/** What a pod refers to could not be read; the error keeps the code of its cause as far as it tells what to do. */
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
