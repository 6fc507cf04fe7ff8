import { errorCodes, type ErrorCode } from "./codes.ts";

/** How deep a chain of causes is followed; a longer one is a loop. */
const maxCauses = 32;

/**
 * The first known code found on the error or, from the outside in, on its causes; the outermost code wins.
 * An `AggregateError` is looked at by its own code and cause only.
 *
 * @returns `undefined` if nothing in the chain carries a code of {@link errorCodes}.
 */
export function codeOf(error: unknown): ErrorCode | undefined {
  let current = error;
  for (let depth = 0; depth < maxCauses && typeof current === "object" && current !== null; depth++) {
    const { code, cause } = current as { code?: unknown; cause?: unknown };
    if (isErrorCode(code)) return code;
    current = cause;
  }
  return undefined;
}

/** Whether the value is a code of {@link errorCodes}. */
export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === "string" && Object.hasOwn(errorCodes, value);
}

/** Whether the error, or one of its causes, says that the named object does not exist. */
export function isNotFound(error: unknown): boolean {
  return codeOf(error) === "VK_NOT_FOUND";
}

/** Whether the error, or one of its causes, says that the input can never succeed. */
export function isInvalidInput(error: unknown): boolean {
  return codeOf(error) === "VK_INVALID_INPUT";
}

/** Whether the error, or one of its causes, says that the object changed in between. */
export function isConflict(error: unknown): boolean {
  return codeOf(error) === "VK_CONFLICT";
}

/** Whether the error, or one of its causes, says that the other side cannot be reached or is overloaded. */
export function isUnavailable(error: unknown): boolean {
  return codeOf(error) === "VK_UNAVAILABLE";
}

/** Whether the error, or one of its causes, says that a call did not end in time. */
export function isDeadlineExceeded(error: unknown): boolean {
  return codeOf(error) === "VK_DEADLINE_EXCEEDED";
}

/** Whether the error, or one of its causes, says that the credentials were refused. */
export function isUnauthorized(error: unknown): boolean {
  return codeOf(error) === "VK_UNAUTHORIZED";
}

/** Whether the error, or one of its causes, says that the credentials do not allow this. */
export function isForbidden(error: unknown): boolean {
  return codeOf(error) === "VK_FORBIDDEN";
}

/** Whether the error, or one of its causes, says that the back end has no room now. */
export function isQuotaExceeded(error: unknown): boolean {
  return codeOf(error) === "VK_QUOTA_EXCEEDED";
}

/** Whether the error, or one of its causes, says that the provider cannot do what was asked for. */
export function isUnsupported(error: unknown): boolean {
  return codeOf(error) === "VK_UNSUPPORTED";
}

/** Whether the error, or one of its causes, says that trying again cannot help. */
export function isTerminal(error: unknown): boolean {
  return codeOf(error) === "VK_TERMINAL";
}

/** The reason that the error, or one of its causes, gives a pod that failed for good; `undefined` if none does. */
export function terminalReasonOf(error: unknown): string | undefined {
  let current = error;
  for (let depth = 0; depth < maxCauses && typeof current === "object" && current !== null; depth++) {
    const { code, reason, cause } = current as { code?: unknown; reason?: unknown; cause?: unknown };
    if (code === "VK_TERMINAL" && typeof reason === "string" && reason !== "") return reason;
    current = cause;
  }
  return undefined;
}

/** Whether the same call may succeed if tried again. An error without a code may: nothing says that it cannot. */
export function isRetryable(error: unknown): boolean {
  const code = codeOf(error);
  return code === undefined || errorCodes[code].retryable;
}

/** HTTP status for an error: its code's, or 500. */
export function httpStatusOf(error: unknown): number {
  const code = codeOf(error);
  return code === undefined ? 500 : errorCodes[code].httpStatus;
}

/**
 * The error's message for people, with the messages of its causes behind colons where they add something. Of a
 * SuppressedError, which `await using` throws, it is the first failure's message, and then that of the disposal.
 */
export function messageOf(error: unknown): string {
  return describe(error, maxCauses);
}

function describe(error: unknown, levels: number): string {
  const parts: string[] = [];
  let current = error;
  for (let depth = 0; depth < levels && current !== undefined && current !== null; depth++) {
    const text = isSuppressedError(current)
      ? `${describe(current.suppressed, levels >> 1)}; then, while disposing: ${describe(current.error, levels >> 1)}`
      : current instanceof Error
        ? current.message || current.name
        : String(current);
    if (!parts.some((part) => part.includes(text))) parts.push(text);
    current = typeof current === "object" ? (current as { cause?: unknown }).cause : undefined;
  }
  return parts.join(": ");
}

/** By its name: a runtime without `await using` has another class for it. */
function isSuppressedError(error: unknown): error is Error & { readonly error: unknown; readonly suppressed: unknown } {
  return error instanceof Error && error.name === "SuppressedError" && "suppressed" in error && "error" in error;
}
