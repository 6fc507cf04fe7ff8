import type { IncomingHttpHeaders } from "node:http";
import type { Duplex } from "node:stream";

/** Head of an HTTP request; `IncomingMessage` satisfies it. */
export interface UpgradeRequest {
  readonly method?: string | undefined;
  /** Path and query. */
  readonly url?: string | undefined;
  readonly headers: IncomingHttpHeaders;
  /** Alternating names and values, as received. */
  readonly rawHeaders?: readonly string[] | undefined;
}

/**
 * Arguments of the event `upgrade` of `node:http`. Whoever accepts it owns the socket, and must add an error handler before anything else.
 */
export interface IncomingUpgrade {
  readonly request: UpgradeRequest;
  readonly socket: Duplex;
  /** Bytes that were read after the request's head. */
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

/** Source: kubernetes v1.36.3 k8s.io/streaming spdy/upgrade.go, which looks for the word anywhere in the value. */
function headerHas(value: string | undefined, word: string): boolean {
  return value?.toLowerCase().includes(word) ?? false;
}
