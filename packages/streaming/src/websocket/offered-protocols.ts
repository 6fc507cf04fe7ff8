import { isUtf8 } from "node:buffer";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import type { UpgradeRequest } from "../upgrade/incoming-upgrade.ts";

/** What stands before a bearer token among the sub-protocols. Source: kubernetes apiserver bearertoken/websocket. */
const bearerPrefix = "base64url.bearer.authorization.k8s.io.";

/** The sub-protocols a WebSocket request offers, in its order, without any that carries a bearer token. */
export function offeredProtocols(request: UpgradeRequest): readonly string[] {
  return listed(request).filter((protocol) => !protocol.startsWith(bearerPrefix));
}

/**
 * The bearer token that a WebSocket request carries among its sub-protocols, as browsers have to; `undefined` if it
 * carries none. It is a secret.
 *
 * @throws InvalidInputError if there are two, if it is malformed, or if no other sub-protocol stands beside it
 */
export function webSocketBearerToken(request: UpgradeRequest): string | undefined {
  const protocols = listed(request);
  const [carrier, second] = protocols.filter((protocol) => protocol.startsWith(bearerPrefix));
  if (carrier === undefined) return undefined;
  if (second !== undefined) throw new InvalidInputError("read a bearer token from Sec-WebSocket-Protocol: there are several");
  const encoded = carrier.slice(bearerPrefix.length);
  const token = Buffer.from(encoded, "base64url");
  if (token.length === 0 || token.toString("base64url") !== encoded || !isUtf8(token))
    throw new InvalidInputError("read a bearer token from Sec-WebSocket-Protocol: it is not unpadded base64url of UTF-8 text");
  if (protocols.length === 1)
    throw new InvalidInputError("read a bearer token from Sec-WebSocket-Protocol: offer another sub-protocol beside it");
  return token.toString("utf8");
}

function listed(request: UpgradeRequest): string[] {
  const header = request.headers["sec-websocket-protocol"] ?? "";
  return header
    .split(",")
    .map((protocol) => protocol.trim())
    .filter((protocol) => protocol !== "");
}
