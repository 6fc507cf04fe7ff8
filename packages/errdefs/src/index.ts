/**
 * Typed errors of Virtual Kubelet, with stable codes and guards that work across package copies.
 *
 * @packageDocumentation
 */
export { errorCodes, type ErrorCode, type ErrorCodeInfo } from "./codes.ts";
export {
  ConflictError,
  DeadlineExceededError,
  ForbiddenError,
  InvalidInputError,
  NotFoundError,
  QuotaExceededError,
  TerminalError,
  UnauthorizedError,
  UnavailableError,
  UnsupportedError,
  VirtualKubeletError,
} from "./errors.ts";
export {
  codeOf,
  httpStatusOf,
  isConflict,
  isDeadlineExceeded,
  isErrorCode,
  isForbidden,
  isInvalidInput,
  isNotFound,
  isQuotaExceeded,
  isRetryable,
  isTerminal,
  isUnauthorized,
  isUnavailable,
  isUnsupported,
  messageOf,
  terminalReasonOf,
} from "./guards.ts";
