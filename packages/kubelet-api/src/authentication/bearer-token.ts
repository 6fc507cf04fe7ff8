import { isWebSocketRequest, webSocketBearerToken } from "@virtual-kubelet/streaming";
import type { IncomingHttpHeaders } from "node:http";

/**
 * Bearer token of a request, from the `Authorization` header or, for a WebSocket, from the sub-protocols. It is a secret.
 *
 * Source: kubernetes v1.36.3 apiserver authentication/request/bearertoken and websocket.
 *
 * @returns `undefined` if the request has no token
 * @throws InvalidInputError if the sub-protocol with the token cannot be decoded
 */
export function bearerTokenOf(headers: IncomingHttpHeaders): string | undefined {
  const [scheme, token] = (headers.authorization ?? "").trim().split(" ", 3);
  if (scheme?.toLowerCase() === "bearer" && token) return token;
  return isWebSocketRequest({ headers }) ? webSocketBearerToken({ headers }) : undefined;
}
