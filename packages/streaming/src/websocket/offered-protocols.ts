import { isUtf8 } from "node:buffer";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import type { UpgradeRequest } from "../upgrade/incoming-upgrade.ts";

/** Prefix of a sub-protocol that carries a bearer token. Source: kubernetes apiserver bearertoken/websocket. */
const bearerPrefix = "base64url.bearer.authorization.k8s.io.";

/** Sub-protocols that a WebSocket request offers, in order, without those that carry a bearer token. */
export function offeredProtocols(request: UpgradeRequest): readonly string[] {
  return listed(request).filter((protocol) => !protocol.startsWith(bearerPrefix));
}

/**
 * Bearer token among the sub-protocols of a WebSocket request, where browsers must put it; `undefined` if there is none. It is a secret.
 *
 * @throws InvalidInputError if there are two, if it is malformed, or if it is the only sub-protocol
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
    throw new InvalidInputError("read a bearer token from Sec-WebSocket-Protocol: another sub-protocol must be offered too");
  return token.toString("utf8");
}

function listed(request: UpgradeRequest): string[] {
  const header = request.headers["sec-websocket-protocol"] ?? "";
  return header
    .split(",")
    .map((protocol) => protocol.trim())
    .filter((protocol) => protocol !== "");
}
