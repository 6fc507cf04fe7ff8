/** Verb of a request, as in access rules. */
export type RequestVerb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete" | "deletecollection";

/** How a watch ends: with a regular end, as a server does from time to time, or with a broken connection. */
export type CutOff = "end" | "reset";

/** A fault that replaces or delays a response. The server executes the request only where noted. */
export type RequestFault =
  /** Executes the request after `ms` milliseconds of the server's clock. */
  | { readonly kind: "delay"; readonly ms: number }
  /** Accepts the request and never responds. With `forward`, the server executes it. */
  | { readonly kind: "drop"; readonly forward?: boolean }
  /** Breaks the connection, or the request's stream over HTTP/2. With `forward`, the server executes the request first. */
  | { readonly kind: "reset"; readonly forward?: boolean }
  /** Responds with this HTTP status and a `Status` object. */
  | {
      readonly kind: "status";
      readonly status: number;
      /** Default: the API server's reason for the status. */
      readonly reason?: string;
      readonly message?: string;
      /** Also sent as `Retry-After`. */
      readonly retryAfterSeconds?: number;
    };

/** A fault in a watch. After it is applied, `afterLines` lines (default 0) still pass unchanged. */
export type WatchFault =
  /** Ends the watch. Default of `cutOff`: `end`. */
  | { readonly kind: "cut"; readonly afterLines?: number; readonly cutOff?: CutOff }
  /** Ends the watch in the middle of a line. Default of `cutOff`: `reset`. */
  | { readonly kind: "cut-line"; readonly afterLines?: number; readonly cutOff?: CutOff }
  /** Sends an ERROR event and ends the watch. Code 410 means that the watch has expired. */
  | { readonly kind: "error-event"; readonly code: number; readonly afterLines?: number; readonly cutOff?: CutOff }
  /** Delays lines by `ms` milliseconds of the server's clock; without `ms` until the rule is disposed. */
  | { readonly kind: "hold"; readonly afterLines?: number; readonly ms?: number };

/** Any fault: of a request, or of the watch that it opens. */
export type Fault = RequestFault | WatchFault;

/** Condition on requests. Every given part must match. */
export interface RequestMatch {
  /** One or several verbs. */
  readonly verb?: RequestVerb | readonly RequestVerb[];
  /** As in access rules: `configmaps`, `pods/status`. A resource does not include its subresources. */
  readonly resource?: string;
  /** API group of the resource, such as `apps`; default: any. */
  readonly group?: string;
  /** Namespace in the path. */
  readonly namespace?: string;
  /** Name of the object: in the path, in a field selector, or in the JSON of a created object. */
  readonly name?: string;
  /** User name of the sender, such as `system:serviceaccount:default:operator`. */
  readonly user?: string;
  /** Matches path and query. For requests without a resource, such as discovery. */
  readonly path?: RegExp;
}

/** Requests that a rule applies to, and how many of them. */
export interface RuleMatch extends RequestMatch {
  /** Number of matching requests; default: all, until the rule is disposed. */
  readonly times?: number;
  /** Share of matching requests, 0 to 1, chosen with the server's `random`; default: 1. */
  readonly probability?: number;
}

/** A fault and the requests it applies to. Disposing it ends the fault and releases delayed requests and lines. */
export interface FaultRule extends Disposable {
  readonly fault: Fault;
  /** Number of requests or watches it was applied to. */
  readonly hits: number;
}

/** Injects faults into a server's responses, both over HTTPS and in process. The server's own controllers are not affected. */
export interface Faults {
  /**
   * Applies the fault to future requests that match, or, for a watch fault, to watches opened from now on. If several rules match, only the
   * first injected one applies.
   */
  inject(match: RuleMatch, fault: Fault): FaultRule;
  /** Applies the fault to open watches that match; `hits` of the rule is their number. */
  disrupt(match: RequestMatch, fault: WatchFault): FaultRule;
  /** Disposes all rules. */
  clear(): void;
}
