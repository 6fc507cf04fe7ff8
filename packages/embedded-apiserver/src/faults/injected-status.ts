import { ApiStatusError } from "../errors/api-status-error.ts";
import type { RequestFault } from "./fault.ts";

const reasons: Readonly<Record<number, string>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  409: "Conflict",
  410: "Expired",
  422: "Invalid",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
  504: "Timeout",
};

/** Error of a `status` fault. */
export function injectedStatus(fault: Omit<RequestFault & { readonly kind: "status" }, "kind">): ApiStatusError {
  const { status, reason = reasons[status], message = `injected ${String(status)}`, retryAfterSeconds } = fault;
  return new ApiStatusError({
    code: status,
    message,
    ...(reason === undefined ? {} : { reason }),
    ...(retryAfterSeconds === undefined ? {} : { details: { retryAfterSeconds } }),
  });
}
