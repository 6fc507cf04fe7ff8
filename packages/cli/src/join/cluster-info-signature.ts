import { createHmac, timingSafeEqual } from "node:crypto";
import type { BootstrapToken } from "./bootstrap-token.ts";

/**
 * Whether a detached JWS (`HEADER..SIGNATURE`, HS256) of the content was made with the token's secret.
 *
 * Source: kubernetes v1.36.3 staging/src/k8s.io/cluster-bootstrap/token/jws.
 */
export function isSignedWith(token: BootstrapToken, signature: string, content: string): boolean {
  const [, header, given] = /^([\w-]+)\.\.([\w-]+)$/.exec(signature) ?? [];
  if (header === undefined || given === undefined || !isExpectedHeader(header, token.id)) return false;
  const payload = Buffer.from(content).toString("base64url");
  const expected = createHmac("sha256", token.secret).update(`${header}.${payload}`).digest();
  const actual = Buffer.from(given, "base64url");
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}

/** The algorithm must be fixed: an attacker chooses the header. */
function isExpectedHeader(header: string, tokenId: string): boolean {
  try {
    const { alg, kid, crit } = Object(JSON.parse(Buffer.from(header, "base64url").toString())) as Record<string, unknown>;
    return alg === "HS256" && kid === tokenId && crit === undefined;
  } catch {
    return false;
  }
}
