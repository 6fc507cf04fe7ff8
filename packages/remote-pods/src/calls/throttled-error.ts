import { UnavailableError } from "@virtual-kubelet/errdefs";

/** Maximum length of a chain of causes; a longer one is a loop. */
const maxCauses = 32;

/**
 * The back end refused a request because of too many requests, before it did anything: HTTP 429, or a vendor's code such as
 * `ThrottlingException`. A client throws it only if the request certainly had no effect, because a `CallBudget` then repeats even a create. Any
 * other refusal, such as a 503, is an UnavailableError, whose outcome is unknown.
 */
export class ThrottledError extends UnavailableError {
  readonly isThrottled = true;
}

/** Whether the error, or one of its causes, is a {@link ThrottledError}, also of another copy of this package. */
export function isThrottled(error: unknown): boolean {
  let current = error;
  for (let depth = 0; depth < maxCauses && typeof current === "object" && current !== null; depth++) {
    const { code, isThrottled: value, cause } = current as { code?: unknown; isThrottled?: unknown; cause?: unknown };
    if (code === "VK_UNAVAILABLE" && value === true) return true;
    current = cause;
  }
  return false;
}
