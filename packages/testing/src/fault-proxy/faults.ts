/** How a response is cut off: with a proper end, by closing the connection early, or with a TCP reset. */
export type CutOff = "end" | "close" | "reset";

/** A fault before the response or in place of it. The request reaches the API server only if the variant says so. */
export type RequestFault =
  /** The request is forwarded after `ms` milliseconds. */
  | { readonly kind: "delay"; readonly ms: number }
  /** The request is accepted and never answered, as on a half-open connection. With `forward`, the API server still acts on it. */
  | { readonly kind: "drop"; readonly forward?: boolean | undefined }
  /** The connection is reset. With `forward`, it is reset after the API server has answered, so the client cannot know the outcome. */
  | { readonly kind: "reset"; readonly forward?: boolean | undefined }
  /** The proxy answers with this status and a `Status` object. */
  | {
      readonly kind: "status";
      readonly status: number;
      /** Default: the reason that the API server uses for the status. */
      readonly reason?: string | undefined;
      readonly message?: string | undefined;
      /** Sent as `Retry-After`. */
      readonly retryAfterSeconds?: number | undefined;
    }
  /** The proxy answers 401 to the credentials of the first request, until a request has different ones. */
  | { readonly kind: "expired-credentials" };

/** A fault in a response's body after a correct beginning. Lines are counted from the moment when the fault applies. */
export type BodyFault =
  /** The body stops after `afterBytes` bytes. */
  | { readonly kind: "truncate"; readonly afterBytes: number; readonly cutOff?: CutOff | undefined }
  /** A watch stops in the middle of a line, after `afterLines` complete lines (default: 0). */
  | { readonly kind: "cut-line"; readonly afterLines?: number | undefined; readonly cutOff?: CutOff | undefined }
  /** A line that is not JSON is inserted. */
  | { readonly kind: "garbage"; readonly afterLines?: number | undefined }
  /** A watch receives an ERROR event at once (`afterLines: 0`) or later, and nothing after it. It stays open unless `cutOff` is set. */
  | { readonly kind: "error-event"; readonly code: number; readonly afterLines?: number | undefined; readonly cutOff?: CutOff | undefined }
  /** No further data arrives, and the connection stays open. */
  | { readonly kind: "silence"; readonly afterLines?: number | undefined }
  /** The body arrives in pieces of `bytes` bytes, one every `everyMs` milliseconds. */
  | { readonly kind: "drip"; readonly bytes: number; readonly everyMs: number };

/** A fault that the proxy applies to a request or its response. */
export type Fault = RequestFault | BodyFault;

/** Selects requests; a request must match every field that is set. */
export interface RequestMatch {
  /** Such as `PATCH`. */
  readonly method?: string | undefined;
  /** Matches path and query, such as `/\/pods\/.*\/status/`. */
  readonly path?: RegExp | undefined;
  /** `true`: watches only; `false`: everything else. */
  readonly watch?: boolean | undefined;
}

/** Fields of a request that a {@link RequestMatch} tests. */
export interface MatchableRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly watch: boolean;
}

/** Whether the request matches. */
export function matches(match: RequestMatch, request: MatchableRequest): boolean {
  const { method, path, watch } = match;
  return (
    (method === undefined || method === request.method) &&
    (watch === undefined || watch === request.watch) &&
    (path === undefined || path.test(request.path))
  );
}

/** Whether the fault concerns the body, and so can also apply to responses in progress. */
export function isBodyFault(fault: Fault): fault is BodyFault {
  return (
    fault.kind === "truncate" ||
    fault.kind === "cut-line" ||
    fault.kind === "garbage" ||
    fault.kind === "error-event" ||
    fault.kind === "silence" ||
    fault.kind === "drip"
  );
}

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

/** Fields of a `Status` object. */
export interface StatusFields {
  readonly status: number;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  readonly retryAfterSeconds?: number | undefined;
}

/** The `Status` object that an API server would send. */
export function statusObject(fields: StatusFields): Record<string, unknown> {
  const { status, reason, message, retryAfterSeconds } = fields;
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: message ?? `injected ${String(status)}`,
    reason: reason ?? reasons[status] ?? "",
    ...(retryAfterSeconds === undefined ? {} : { details: { retryAfterSeconds } }),
    code: status,
  };
}
