/** What a request wants to do, in the words of access rules. */
export type RequestVerb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete" | "deletecollection";

/** How a watch is broken off: with a proper end, as a server does now and then, or by a broken connection. */
export type CutOff = "end" | "reset";

/** A fault in place of an answer, or before it. The server acts on the request only where that is said. */
export type RequestFault =
  /** Acted on after `ms` milliseconds of the server's clock. */
  | { readonly kind: "delay"; readonly ms: number }
  /** Accepted, and never answered. With `forward`, the server acts on it all the same. */
  | { readonly kind: "drop"; readonly forward?: boolean }
  /** The connection breaks; over HTTP/2 the request's stream. With `forward`, only after the server acted on it. */
  | { readonly kind: "reset"; readonly forward?: boolean }
  /** Answered with this status and a `Status` object. */
  | {
      readonly kind: "status";
      readonly status: number;
      /** Default: the API server's word for the status. */
      readonly reason?: string;
      readonly message?: string;
      /** Sent as `Retry-After`, too. */
      readonly retryAfterSeconds?: number;
    };

/** A fault in a watch. Its lines are counted from the moment the fault applies; `afterLines` (default 0) come as they are. */
export type WatchFault =
  /** The watch ends; `cutOff` is `end` unless said otherwise. */
  | { readonly kind: "cut"; readonly afterLines?: number; readonly cutOff?: CutOff }
  /** The watch ends in the middle of a line; `cutOff` is `reset` unless said otherwise. */
  | { readonly kind: "cut-line"; readonly afterLines?: number; readonly cutOff?: CutOff }
  /** An ERROR event, after which the watch ends: with code 410 it has expired. */
  | { readonly kind: "error-event"; readonly code: number; readonly afterLines?: number; readonly cutOff?: CutOff }
  /** Lines come `ms` milliseconds of the server's clock late; without `ms` when the rule is disposed. */
  | { readonly kind: "hold"; readonly afterLines?: number; readonly ms?: number };

/** What a server does to a request, or to the watch it opens. */
export type Fault = RequestFault | WatchFault;

/** Which requests are meant; every part that is given must hold. */
export interface RequestMatch {
  /** One verb, or several. */
  readonly verb?: RequestVerb | readonly RequestVerb[];
  /** As in access rules: `configmaps`, `pods/status`. A resource does not include its subresources. */
  readonly resource?: string;
  /** The resource's API group, such as `apps`; default: any. */
  readonly group?: string;
  /** The namespace in the request's path. */
  readonly namespace?: string;
  /** The object's name: in the path, in a field selector on it, or in the JSON of what is created. */
  readonly name?: string;
  /** Who asks, such as `system:serviceaccount:default:operator`. */
  readonly user?: string;
  /** Matches path and query; for what is no resource, such as discovery. */
  readonly path?: RegExp;
}

/** Which requests a rule is for, and how many of them. */
export interface RuleMatch extends RequestMatch {
  /** The next so many requests that match; default: all, until the rule is disposed. */
  readonly times?: number;
  /** The share of matching requests it is applied to, 0 to 1, by the server's `random`; default: 1. */
  readonly probability?: number;
}

/** A fault and the requests it is for. Disposing it ends it, and lets go of what it holds back. */
export interface FaultRule extends Disposable {
  readonly fault: Fault;
  /** How many requests or watches it was applied to. */
  readonly hits: number;
}

/** Breaks what a server answers, the same way over HTTPS and in process. The server's own controllers are not affected. */
export interface Faults {
  /**
   * Applies the fault to requests to come that match; one in watches to watches that are opened from now on. Of
   * several rules, the first that was injected is applied, and only that.
   */
  inject(match: RuleMatch, fault: Fault): FaultRule;
  /** Applies the fault to the watches that are open and match; `hits` of the rule says how many they are. */
  disrupt(match: RequestMatch, fault: WatchFault): FaultRule;
  /** Disposes all rules. */
  clear(): void;
}
