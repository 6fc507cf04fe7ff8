import {
  ConflictError,
  ForbiddenError,
  InvalidInputError,
  NotFoundError,
  UnauthorizedError,
  UnavailableError,
  type VirtualKubeletError,
} from "@virtual-kubelet/errdefs";
import type { Status } from "../rest/objects.ts";

/**
 * A `Status` from the API server. It is the `cause` of the error of errdefs that a {@link KubeClient} throws;
 * {@link statusOf} finds it.
 */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** The server's status; `code` is always set. */
  readonly status: Status;

  /** @param status - the server's, or one derived from an answer without one */
  constructor(status: Status) {
    super(status.message ?? status.reason ?? `the server answered ${status.code}`);
    this.status = status;
  }
}

/** Returns the API server's `Status` behind an error, with reason, code and details; `undefined` if there is none. */
export function statusOf(error: unknown): Status | undefined {
  for (let current = error, depth = 0; current instanceof Error && depth < 32; current = current.cause, depth++) {
    if (current.name === "ApiError") return (current as ApiError).status;
  }
  return undefined;
}

/**
 * Whether a resourceVersion or a list's `continue` token is too old (410, `Expired` or `Gone`):
 * the same call never succeeds, but a new list does.
 */
export function isGone(error: unknown): boolean {
  return statusOf(error)?.code === 410;
}

/**
 * Whether this replica of the server has not seen the resourceVersion yet, which happens when several servers
 * share the load. Source: apiserver `storage/errors.go`, `NewTooLargeResourceVersionError`.
 */
export function isTooLargeResourceVersion(error: unknown): boolean {
  return statusOf(error)?.details?.causes?.some((cause) => cause.reason === "ResourceVersionTooLarge") ?? false;
}

/** A request and the server's refusal. */
export interface Refusal {
  /** The operation and its object: `get pods default/web`. */
  readonly operation: string;
  /** The HTTP status, or the code of a watch's `ERROR` event. */
  readonly code: number;
  /** The body, parsed if it is JSON, otherwise its text. */
  readonly body: unknown;
  /** The header `Retry-After`. Kubernetes sends seconds; a date is ignored. */
  readonly retryAfter?: string | undefined;
}

/** Returns the errdefs error for an answer of the API server, with an {@link ApiError} as its cause; see {@link KubeClient}. */
export function apiError(refusal: Refusal): VirtualKubeletError {
  const status = toStatus(refusal);
  const cause = new ApiError(status);
  const message = `${refusal.operation}: ${cause.message}`;
  switch (refusal.code) {
    case 401:
      return new UnauthorizedError(message, { cause });
    case 403:
      return new ForbiddenError(message, { cause });
    case 404:
      return new NotFoundError(message, { cause });
    case 409:
      return new ConflictError(message, { cause });
    case 408:
    case 429:
      return new UnavailableError(message, { cause, retryAfterMs: retryAfterMs(refusal, status) });
    default:
      if (refusal.code >= 400 && refusal.code < 500) return new InvalidInputError(message, { cause });
      return new UnavailableError(message, { cause, retryAfterMs: retryAfterMs(refusal, status) });
  }
}

function toStatus({ code, body }: Refusal): Status {
  if (typeof body === "object" && body !== null && "kind" in body && body.kind === "Status") return { ...(body as Status), code };
  const text = typeof body === "string" ? body.trim().replaceAll(/\s+/g, " ").slice(0, 256) : "";
  return { kind: "Status", apiVersion: "v1", status: "Failure", code, message: `the server answered ${code}${text && `: ${text}`}` };
}

function retryAfterMs({ retryAfter }: Refusal, status: Status): number | undefined {
  if (retryAfter && /^\d+$/.test(retryAfter)) return Number(retryAfter) * 1000;
  const seconds = status.details?.retryAfterSeconds;
  return seconds ? seconds * 1000 : undefined;
}
