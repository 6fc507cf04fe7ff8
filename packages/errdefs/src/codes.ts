/** What an error code means to those who receive it. */
export interface ErrorCodeInfo {
  /** HTTP status the node's own server answers with. */
  readonly httpStatus: number;
  /** Whether trying the same call again, unchanged, can succeed. */
  readonly retryable: boolean;
  /** What the code says, in one sentence for people. */
  readonly description: string;
  /** What to do about it, with commands in backquotes. */
  readonly remedy: string;
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
  VK_NOT_FOUND: {
    httpStatus: 404,
    retryable: false,
    description: "The named object does not exist.",
    remedy: "Check the name and the namespace. A pod that has just been created may not be known to the node yet.",
  },
  VK_INVALID_INPUT: {
    httpStatus: 400,
    retryable: false,
    description: "The input is malformed or contradicts itself.",
    remedy: "Correct the field that the message names. The same input never succeeds.",
  },
  VK_CONFLICT: {
    httpStatus: 409,
    retryable: true,
    description: "The object changed, or another one holds its name.",
    remedy: "Nothing, because it is tried again with the new state. If it lasts, find out who else writes the object.",
  },
  VK_UNAVAILABLE: {
    httpStatus: 503,
    retryable: true,
    description: "The other side cannot be reached or is overloaded.",
    remedy: "Check that the back end or the API server runs and can be reached from where the program runs. It is tried again.",
  },
  VK_DEADLINE_EXCEEDED: {
    httpStatus: 504,
    retryable: true,
    description: "The call did not end in time; its outcome is unknown.",
    remedy: "Find out why the back end is slow. The setting providerTimeout gives its calls more time.",
  },
  VK_UNAUTHORIZED: {
    httpStatus: 401,
    retryable: true,
    description: "The credentials were refused.",
    remedy:
      "Renew the token, the certificate or the password that the message is about. Files are read again, so that no restart is needed.",
  },
  VK_FORBIDDEN: {
    httpStatus: 403,
    retryable: true,
    description: "The credentials are valid, but do not allow this.",
    remedy: "Give the identity the right. For the cluster: `virtual-kubelet manifests rbac | kubectl apply -f -`.",
  },
  VK_QUOTA_EXCEEDED: {
    httpStatus: 429,
    retryable: true,
    description: "The back end has no room for this now.",
    remedy: "Free something at the back end, or raise its quota. It is tried again.",
  },
  VK_UNSUPPORTED: {
    httpStatus: 501,
    retryable: false,
    description: "The provider cannot do what was asked for.",
    remedy: "Remove the field that the message names, or use another provider: `virtual-kubelet providers NAME` shows what one can do.",
  },
  VK_TERMINAL: {
    httpStatus: 500,
    retryable: false,
    description: "The operation failed for good; trying again cannot help.",
    remedy: "The message and the pod's reason say what has to change. A pod has to be created anew, which its controller does by itself.",
  },
};
