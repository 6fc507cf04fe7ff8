import type { ErrorCode } from "@virtual-kubelet/errdefs";
import type { FieldError, Kind } from "../kinds/kind.ts";

/** Body of an error response: Kubernetes' `Status`. */
export interface ApiStatus {
  readonly kind: "Status";
  readonly apiVersion: "v1";
  /** `continue` is set if a list can be continued from the current state. */
  readonly metadata: { readonly continue?: string };
  readonly status: "Failure";
  readonly message: string;
  /** Such as `NotFound`; absent if the real server sets none. */
  readonly reason?: string;
  readonly details?: StatusDetails;
  /** HTTP status. */
  readonly code: number;
}

/** Details of an {@link ApiStatus}. */
export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  /** Plural name of the resource; for a 422 the kind. */
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly { readonly reason?: string; readonly message?: string; readonly field?: string }[];
  /** Also sent as the `Retry-After` header. */
  readonly retryAfterSeconds?: number;
}

export type ResourceName = Pick<Kind, "group" | "plural">;

/**
 * Error response of the API server, with a matching code of errdefs, so that `isNotFound(error)` and the like recognize it.
 *
 * Messages are those of the real server: k8s.io/apimachinery v0.36.3 pkg/api/errors/errors.go.
 */
export class ApiStatusError extends Error {
  /** Code of errdefs for the HTTP status; `undefined` if none matches. */
  readonly code: ErrorCode | undefined;
  /** Body of the response. */
  readonly status: ApiStatus;

  constructor(status: Pick<ApiStatus, "message" | "code" | "reason" | "details"> & Partial<Pick<ApiStatus, "metadata">>) {
    super(status.message);
    this.name = "ApiStatusError";
    this.code = errorCodeByStatus[status.code];
    const { message, reason, details, code, metadata = {} } = status;
    this.status = {
      kind: "Status",
      apiVersion: "v1",
      metadata,
      status: "Failure",
      message,
      ...(reason === undefined ? {} : { reason }),
      ...(details === undefined ? {} : { details }),
      code,
    };
  }
}

const errorCodeByStatus: Readonly<Record<number, ErrorCode>> = {
  400: "VK_INVALID_INPUT",
  401: "VK_UNAUTHORIZED",
  403: "VK_FORBIDDEN",
  404: "VK_NOT_FOUND",
  405: "VK_INVALID_INPUT",
  409: "VK_CONFLICT",
  413: "VK_INVALID_INPUT",
  415: "VK_INVALID_INPUT",
  422: "VK_INVALID_INPUT",
  429: "VK_UNAVAILABLE",
  503: "VK_UNAVAILABLE",
  504: "VK_UNAVAILABLE",
};

/** `pods`, or `deployments.apps`. */
function qualifiedResource(resource: ResourceName): string {
  return resource.group === "" ? resource.plural : `${resource.plural}.${resource.group}`;
}

function resourceDetails(resource: ResourceName, name: string): StatusDetails {
  return { ...(name === "" ? {} : { name }), ...(resource.group === "" ? {} : { group: resource.group }), kind: resource.plural };
}

/** 404: `pods "x" not found`. */
export function notFound(resource: ResourceName, name: string): ApiStatusError {
  const message = `${qualifiedResource(resource)} "${name}" not found`;
  return new ApiStatusError({ code: 404, reason: "NotFound", message, details: resourceDetails(resource, name) });
}

/** 404 for a path in a known API group that names no resource. */
export function noSuchResource(): ApiStatusError {
  return new ApiStatusError({ code: 404, reason: "NotFound", message: "the server could not find the requested resource", details: {} });
}

/** 409: `pods "x" already exists`. */
export function alreadyExists(resource: ResourceName, name: string, isDeleted = false): ApiStatusError {
  const message = `${beingDeleted(isDeleted)}${qualifiedResource(resource)} "${name}" already exists`;
  return new ApiStatusError({ code: 409, reason: "AlreadyExists", message, details: resourceDetails(resource, name) });
}

function beingDeleted(isDeleted: boolean): string {
  return isDeleted ? "object is being deleted: " : "";
}

/** 409 after a `generateName` has produced no free name. */
export function generateNameConflict(resource: ResourceName, name: string, isDeleted = false): ApiStatusError {
  const message = `${beingDeleted(isDeleted)}${qualifiedResource(resource)} "${name}" already exists, the server was not able to generate a unique name for the object`;
  return new ApiStatusError({
    code: 409,
    reason: "AlreadyExists",
    message,
    details: { ...resourceDetails(resource, name), retryAfterSeconds: 1 },
  });
}

/** 409: `Operation cannot be fulfilled on pods "x": …`. */
export function conflict(resource: ResourceName, name: string, problem: string): ApiStatusError {
  const message = `Operation cannot be fulfilled on ${qualifiedResource(resource)} "${name}": ${problem}`;
  return new ApiStatusError({ code: 409, reason: "Conflict", message, details: resourceDetails(resource, name) });
}

/** 409: the resourceVersion is not the stored one. */
export function modifiedConflict(resource: ResourceName, name: string): ApiStatusError {
  return conflict(resource, name, "the object has been modified; please apply your changes to the latest version and try again");
}

/** 409: the UID does not match the precondition. */
export function uidConflict(resource: ResourceName, name: string, demanded: string, actual: string): ApiStatusError {
  return conflict(resource, name, `Precondition failed: UID in precondition: ${demanded}, UID in object meta: ${actual}`);
}

/** 409 for an update with another UID. The message is the real server's storage error. */
export function uidConflictOnUpdate(
  resource: ResourceName,
  { namespace, name }: { namespace: string; name: string },
  demanded: string,
  actual: string,
): ApiStatusError {
  const key = ["", "registry", resource.plural, ...(namespace === "" ? [] : [namespace]), name].join("/");
  const problem = `Precondition failed: UID in precondition: ${demanded}, UID in object meta: ${actual}`;
  return conflict(resource, name, `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${problem}`);
}

/** 422: `Pod "x" is invalid: spec.containers: Required value`. */
export function invalid(kind: Pick<Kind, "group" | "kind">, name: string, errors: readonly FieldError[]): ApiStatusError {
  const qualifiedKind = kind.group === "" ? kind.kind : `${kind.kind}.${kind.group}`;
  const texts = [...new Set(errors.map((error) => `${error.field}: ${error.message}`))];
  const list = texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`;
  return new ApiStatusError({
    code: 422,
    reason: "Invalid",
    message: `${qualifiedKind} "${name}" is invalid${texts.length === 0 ? "" : `: ${list}`}`,
    details: {
      ...(name === "" ? {} : { name }),
      ...(kind.group === "" ? {} : { group: kind.group }),
      ...(kind.kind === "" ? {} : { kind: kind.kind }),
      causes: errors.map(({ reason, message, field }) => ({ reason, message, field })),
    },
  });
}

/** 422 without a kind, for a JSON patch that cannot be applied. */
export function unprocessable(): ApiStatusError {
  return new ApiStatusError({
    code: 422,
    reason: "Invalid",
    message: "the server rejected our request due to an error in our request",
    details: {},
  });
}

/** 400. */
export function badRequest(message: string): ApiStatusError {
  return new ApiStatusError({ code: 400, reason: "BadRequest", message });
}

/** 401. */
export function unauthorized(): ApiStatusError {
  return new ApiStatusError({ code: 401, reason: "Unauthorized", message: "Unauthorized" });
}

/** 403: `pods "x" is forbidden: …`; without a name `pods is forbidden: …`. */
export function forbidden(resource: ResourceName, name: string, problem: string, causes?: StatusDetails["causes"]): ApiStatusError {
  const subject = name === "" ? qualifiedResource(resource) : `${qualifiedResource(resource)} "${name}"`;
  return new ApiStatusError({
    code: 403,
    reason: "Forbidden",
    message: `${subject} is forbidden: ${problem}`,
    details: { ...resourceDetails(resource, name), ...(causes === undefined ? {} : { causes }) },
  });
}

/** 405. */
export function methodNotAllowed(): ApiStatusError {
  const message = "the server does not allow this method on the requested resource";
  return new ApiStatusError({ code: 405, reason: "MethodNotAllowed", message, details: {} });
}

/** 406 of the routes of built-in groups. @param accepted - media types that are served */
export function notAcceptableRoute(accepted: readonly string[]): ApiStatusError {
  const message = `406: Not Acceptable\n\nAvailable representations: ${accepted.join(", ")}`;
  return new ApiStatusError({ code: 406, reason: "NotAcceptable", message, details: {} });
}

/** 406 of a form that is not served. @param accepted - media types that are served */
export function notAcceptable(accepted: readonly string[]): ApiStatusError {
  return notAcceptableForm(`only the following media types are accepted: ${accepted.join(", ")}`);
}

/** 406. */
export function notAcceptableForm(message: string): ApiStatusError {
  return new ApiStatusError({ code: 406, reason: "NotAcceptable", message });
}

/** 410: the requested version is older than the retained history. @param next - token with which the list can be continued */
export function expired(message: string, next?: string): ApiStatusError {
  return new ApiStatusError({ code: 410, reason: "Expired", message, ...(next === undefined ? {} : { metadata: { continue: next } }) });
}

/** 413. @param problem - such as `limit is 3145728` */
export function tooLarge(problem: string): ApiStatusError {
  return new ApiStatusError({ code: 413, reason: "RequestEntityTooLarge", message: `Request entity too large: ${problem}` });
}

/** 415. @param message - includes the accepted media types */
export function unsupportedMediaType(message: string): ApiStatusError {
  return new ApiStatusError({ code: 415, reason: "UnsupportedMediaType", message });
}

/** 503. */
export function serviceUnavailable(message: string): ApiStatusError {
  return new ApiStatusError({ code: 503, reason: "ServiceUnavailable", message });
}

/** 429. */
export function tooManyRequests(message: string, retryAfterSeconds: number): ApiStatusError {
  return new ApiStatusError({ code: 429, reason: "TooManyRequests", message, details: { retryAfterSeconds } });
}

/** 500. */
export function internalError(problem: string): ApiStatusError {
  return new ApiStatusError({
    code: 500,
    reason: "InternalError",
    message: `Internal error occurred: ${problem}`,
    details: { causes: [{ message: problem }] },
  });
}

/** 500 with only a message, as the real server answers errors that it does not classify. */
export function plainFailure(message: string): ApiStatusError {
  return new ApiStatusError({ code: 500, message });
}

/** 504: the requested resourceVersion has not been reached yet. */
export function tooLargeResourceVersion(wanted: number, current: number): ApiStatusError {
  return new ApiStatusError({
    code: 504,
    reason: "Timeout",
    message: `Timeout: Too large resource version: ${wanted}, current: ${current}`,
    details: { causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }], retryAfterSeconds: 1 },
  });
}
