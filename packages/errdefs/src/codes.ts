/** What an error code means to those who receive it. */
export interface ErrorCodeInfo {
  /** HTTP status the node's own server answers with. */
  readonly httpStatus: number;
  /** Whether trying the same call again, unchanged, can succeed. */
  readonly retryable: boolean;
  /** What the code says, in one sentence for people. */
  readonly description: string;
}

/** A code of {@link errorCodes}. */
export type ErrorCode =
  | "VK_NOT_FOUND"
  | "VK_INVALID_INPUT"
  | "VK_CONFLICT"
  | "VK_UNAVAILABLE"
  | "VK_DEADLINE_EXCEEDED"
  | "VK_UNAUTHORIZED"
  | "VK_FORBIDDEN"
  | "VK_QUOTA_EXCEEDED"
  | "VK_UNSUPPORTED"
  | "VK_TERMINAL";

/**
 * Every code the project's errors carry. Codes are stable: they are matched across package copies and versions,
 * and a provider may set one on its own errors without importing this package.
 */
export const errorCodes: Readonly<Record<ErrorCode, ErrorCodeInfo>> = {
  VK_NOT_FOUND: { httpStatus: 404, retryable: false, description: "The named object does not exist." },
  VK_INVALID_INPUT: { httpStatus: 400, retryable: false, description: "The input is malformed or contradicts itself." },
  VK_CONFLICT: { httpStatus: 409, retryable: true, description: "The object changed, or another one holds its name." },
  VK_UNAVAILABLE: { httpStatus: 503, retryable: true, description: "The other side cannot be reached or is overloaded." },
  VK_DEADLINE_EXCEEDED: { httpStatus: 504, retryable: true, description: "The call did not end in time; its outcome is unknown." },
  VK_UNAUTHORIZED: { httpStatus: 401, retryable: true, description: "The credentials were refused." },
  VK_FORBIDDEN: { httpStatus: 403, retryable: true, description: "The credentials are valid, but do not allow this." },
  VK_QUOTA_EXCEEDED: { httpStatus: 429, retryable: true, description: "The back end has no room for this now." },
  VK_UNSUPPORTED: { httpStatus: 501, retryable: false, description: "The provider cannot do what was asked for." },
  VK_TERMINAL: { httpStatus: 500, retryable: false, description: "The operation failed for good; trying again cannot help." },
};
