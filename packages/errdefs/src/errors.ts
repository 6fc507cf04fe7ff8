import type { ErrorCode } from "./codes.ts";

/**
 * Base of the project's errors. Messages say what was attempted, on what, and what to do; they carry no secrets.
 *
 * Match with the guards ({@link isNotFound} and its siblings), not with `instanceof`: two copies of this package may
 * be installed, and a provider may throw plain errors with a `code`.
 */
export abstract class VirtualKubeletError extends Error {
  /** The stable code the guards match. */
  abstract readonly code: ErrorCode;

  /** @param options - `cause`: the error that led to this one. */
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The named object does not exist. */
export class NotFoundError extends VirtualKubeletError {
  readonly code = "VK_NOT_FOUND";
}

/** The input is malformed or contradicts itself; the same input never succeeds. */
export class InvalidInputError extends VirtualKubeletError {
  readonly code = "VK_INVALID_INPUT";
}

/** The object changed in between, or another object holds its name. */
export class ConflictError extends VirtualKubeletError {
  readonly code = "VK_CONFLICT";
}

/** The other side cannot be reached, or is overloaded. */
export class UnavailableError extends VirtualKubeletError {
  readonly code = "VK_UNAVAILABLE";
  /** How long the other side asked to be left alone, in milliseconds; absent if it did not say. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, options?: ErrorOptions & { readonly retryAfterMs?: number | undefined }) {
    super(message, options);
    this.retryAfterMs = options?.retryAfterMs;
  }
}

/** The call did not end in time. Whether it took effect is unknown. */
export class DeadlineExceededError extends VirtualKubeletError {
  readonly code = "VK_DEADLINE_EXCEEDED";
}

/** The credentials were refused. */
export class UnauthorizedError extends VirtualKubeletError {
  readonly code = "VK_UNAUTHORIZED";
}

/** The credentials are valid, but do not allow this. */
export class ForbiddenError extends VirtualKubeletError {
  readonly code = "VK_FORBIDDEN";
}

/** The back end has no room for this now. */
export class QuotaExceededError extends VirtualKubeletError {
  readonly code = "VK_QUOTA_EXCEEDED";
  /** Delay before another attempt is of use, in milliseconds; absent if it is unknown. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, options?: ErrorOptions & { readonly retryAfterMs?: number | undefined }) {
    super(message, options);
    this.retryAfterMs = options?.retryAfterMs;
  }
}

/** The provider cannot do what was asked for. */
export class UnsupportedError extends VirtualKubeletError {
  readonly code = "VK_UNSUPPORTED";
  /** Path of the field that asks for it, such as `spec.hostNetwork`; absent where no field is to blame. */
  readonly fieldPath: string | undefined;

  constructor(message: string, options?: ErrorOptions & { readonly fieldPath?: string | undefined }) {
    super(message, options);
    this.fieldPath = options?.fieldPath;
  }
}

/** The operation failed for good. A pod whose creation ends so is Failed. */
export class TerminalError extends VirtualKubeletError {
  readonly code = "VK_TERMINAL";
  /** The reason such a pod gets, in one word in CamelCase such as `NodePorts`; absent where the error has none of its own. */
  readonly reason: string | undefined;

  constructor(message: string, options?: ErrorOptions & { readonly reason?: string | undefined }) {
    super(message, options);
    this.reason = options?.reason;
  }
}
