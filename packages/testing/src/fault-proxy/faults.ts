/** How a response is broken off: with a proper end, by closing the connection early, or with a TCP reset. */
export type CutOff = "end" | "close" | "reset";

/** A fault in place of an answer, or before it. The request reaches the API server only where that is said. */
export type RequestFault =
  /** Forwarded after `ms` milliseconds. */
  | { readonly kind: "delay"; readonly ms: number }
  /** Accepted, and never answered: a half-open connection. With `forward`, the API server acts on it all the same. */
  | { readonly kind: "drop"; readonly forward?: boolean | undefined }
  /** The connection is reset. With `forward`, only once the API server has answered: whether it acted stays unknown. */
  | { readonly kind: "reset"; readonly forward?: boolean | undefined }
  /** Answered by the proxy with this status and a `Status` object. */
  | {
      readonly kind: "status";
      readonly status: number;
      /** Default: the API server's word for the status. */
      readonly reason?: string | undefined;
      readonly message?: string | undefined;
      /** Sent as `Retry-After`. */
      readonly retryAfterSeconds?: number | undefined;
    }
  /** 401 to the credentials that the first request came with, until a request comes with others. */
  | { readonly kind: "expired-credentials" };

/** A fault in an answer's body, which begins as the API server sent it. Lines are counted from the moment the fault applies. */
export type BodyFault =
  /** The body stops after so many bytes. */
  | { readonly kind: "truncate"; readonly afterBytes: number; readonly cutOff?: CutOff | undefined }
  /** A watch stops in the middle of a line, after `afterLines` (default 0) whole ones. */
  | { readonly kind: "cut-line"; readonly afterLines?: number | undefined; readonly cutOff?: CutOff | undefined }
  /** A line comes that is not JSON. */
  | { readonly kind: "garbage"; readonly afterLines?: number | undefined }
  /** A watch gets an ERROR event at once (`afterLines: 0`) or later, then nothing more; it stays open unless `cutOff` says otherwise. */
  | { readonly kind: "error-event"; readonly code: number; readonly afterLines?: number | undefined; readonly cutOff?: CutOff | undefined }
  /** Nothing more comes, and the connection stays open. */
  | { readonly kind: "silence"; readonly afterLines?: number | undefined }
  /** The body comes in pieces of `bytes`, one every `everyMs` milliseconds. */
  | { readonly kind: "drip"; readonly bytes: number; readonly everyMs: number };

/** What the proxy does to a request or to its answer. */
export type Fault = RequestFault | BodyFault;

/** Which requests are meant; every part that is given must hold. */
export interface RequestMatch {
  /** Such as `PATCH`. */
  readonly method?: string | undefined;
  /** Matches path and query, such as `/\/pods\/.*\/status/`. */
  readonly path?: RegExp | undefined;
  /** `true`: watches only; `false`: everything else. */
  readonly watch?: boolean | undefined;
}

/** A request as matches see it. */
export interface MatchableRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly watch: boolean;
}

/** Whether the request is meant. */
export function matches(match: RequestMatch, request: MatchableRequest): boolean {
  const { method, path, watch } = match;
  return (
    (method === undefined || method === request.method) &&
    (watch === undefined || watch === request.watch) &&
    (path === undefined || path.test(request.path))
  );
}

/** Whether the fault lies in the body, and so applies to answers that are already under way, too. */
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

/** What a `Status` object says. */
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
