import { isWebSocketRequest, webSocketBearerToken } from "@virtual-kubelet/streaming";
import type { IncomingHttpHeaders } from "node:http";

/**
 * The bearer token that a request carries: in its header `Authorization`, else, for a WebSocket, among its
 * sub-protocols. It is a secret.
 *
 * Source: kubernetes v1.36.3 apiserver authentication/request/bearertoken and websocket.
 *
 * @returns `undefined` if it carries none
 * @throws InvalidInputError if what stands among the sub-protocols cannot be read
 */
export function bearerTokenOf(headers: IncomingHttpHeaders): string | undefined {
  const [scheme, token] = (headers.authorization ?? "").trim().split(" ", 3);
  if (scheme?.toLowerCase() === "bearer" && token) return token;
  return isWebSocketRequest({ headers }) ? webSocketBearerToken({ headers }) : undefined;
}
