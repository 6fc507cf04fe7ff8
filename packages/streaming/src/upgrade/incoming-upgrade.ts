import type { IncomingHttpHeaders } from "node:http";
import type { Duplex } from "node:stream";

/** The head of an HTTP request; `IncomingMessage` is one. */
export interface UpgradeRequest {
  readonly method?: string | undefined;
  /** Path and query. */
  readonly url?: string | undefined;
  readonly headers: IncomingHttpHeaders;
  /** Names and values in turn, as they came. */
  readonly rawHeaders?: readonly string[] | undefined;
}

/**
 * What the event `upgrade` of `node:http` hands over. Whoever accepts it owns the socket from then on, and puts an error
 * handler on it before anything else.
 */
export interface IncomingUpgrade {
  readonly request: UpgradeRequest;
  readonly socket: Duplex;
  /** What was read behind the request's head. */
  readonly head: Buffer;
}

/** Whether the request asks for a WebSocket. */
export function isWebSocketRequest(request: UpgradeRequest): boolean {
  return headerHas(request.headers.connection, "upgrade") && headerHas(request.headers.upgrade, "websocket");
}

/** Whether the request asks for SPDY/3.1. */
export function isSpdyRequest(request: UpgradeRequest): boolean {
  return headerHas(request.headers.connection, "upgrade") && headerHas(request.headers.upgrade, "spdy/3.1");
}

/** Source: kubernetes v1.36.3 k8s.io/streaming spdy/upgrade.go looks for the word anywhere in the value. */
function headerHas(value: string | undefined, word: string): boolean {
  return value?.toLowerCase().includes(word) ?? false;
}
