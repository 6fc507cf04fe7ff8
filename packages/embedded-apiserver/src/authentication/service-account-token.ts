import type { Clock, Random } from "@virtual-kubelet/clock";
import { createHash, generateKeyPairSync, sign, verify, type KeyObject } from "node:crypto";

/** Claims of a service account token. */
export interface TokenClaims {
  readonly iss: string;
  readonly sub: string;
  readonly aud: readonly string[];
  /** Time of issue, in seconds since the epoch. */
  readonly iat: number;
  /** Start of the validity, in seconds since the epoch. */
  readonly nbf: number;
  /** End of the validity, in seconds since the epoch. */
  readonly exp: number;
  readonly jti: string;
  readonly "kubernetes.io": {
    readonly namespace: string;
    readonly serviceaccount: BoundObject;
    readonly pod?: BoundObject;
    readonly node?: BoundObject;
    readonly secret?: BoundObject;
  };
}

/** Object that a token names. */
export interface BoundObject {
  readonly name: string;
  readonly uid: string;
}

/** Parameters of a new token. */
export interface TokenSpec {
  readonly namespace: string;
  readonly serviceAccount: BoundObject;
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
  /** Objects that the token is bound to, in addition to its service account. */
  readonly bound?: { readonly pod?: BoundObject; readonly node?: BoundObject; readonly secret?: BoundObject } | undefined;
}

/** Issuer of the tokens, and their audience if a request names none. */
export const tokenIssuer = "https://kubernetes.default.svc.cluster.local";

/**
 * Issues and verifies tokens of service accounts: JSON Web Tokens, signed with ES256 by a key that each server generates.
 *
 * Source of the claims: pkg/serviceaccount/claims.go of Kubernetes v1.36.3.
 */
export class ServiceAccountTokens {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #keys: { readonly privateKey: KeyObject; readonly publicKey: KeyObject } = generateKeyPairSync("ec", { namedCurve: "P-256" });

  readonly #keyId: string = createHash("sha256")
    .update(this.#keys.publicKey.export({ type: "spki", format: "der" }))
    .digest("base64url");

  constructor(deps: { readonly clock: Clock; readonly random: Random }) {
    this.#clock = deps.clock;
    this.#random = deps.random;
  }

  /** Public key that verifies the tokens, PEM. */
  get publicKeyPem(): string {
    return this.#keys.publicKey.export({ type: "spki", format: "pem" }).toString();
  }

  /** Public key as a JSON Web Key, with the identifier that tokens name. Source: Kubernetes v1.36.3 pkg/serviceaccount/jwt.go, `keyIDFromPublicKey`. */
  get publicJwk(): Readonly<Record<string, string>> {
    const { crv = "", x = "", y = "" } = this.#keys.publicKey.export({ format: "jwk" });
    return { use: "sig", kty: "EC", kid: this.#keyId, crv, alg: "ES256", x, y };
  }

  /** Issues a token that is valid from now on. */
  issue(spec: TokenSpec): { readonly token: string; readonly expiresAtSeconds: number } {
    const now = Math.floor(this.#clock.now() / 1000);
    const { namespace, serviceAccount, bound = {} } = spec;
    const claims: TokenClaims = {
      aud: spec.audiences,
      exp: now + spec.expirationSeconds,
      iat: now,
      iss: tokenIssuer,
      jti: this.#random.uuid(),
      "kubernetes.io": { namespace, ...bound, serviceaccount: serviceAccount },
      nbf: now,
      sub: `system:serviceaccount:${namespace}:${serviceAccount.name}`,
    };
    const signed = `${encode({ alg: "ES256", kid: this.#keyId })}.${encode(claims)}`;
    const signature = sign("sha256", Buffer.from(signed), { key: this.#keys.privateKey, dsaEncoding: "ieee-p1363" }).toString("base64url");
    return { token: `${signed}.${signature}`, expiresAtSeconds: claims.exp };
  }

  /** Returns the claims of a token; `undefined` unless this server issued it and it is valid now. */
  verify(token: string): TokenClaims | undefined {
    const [header = "", payload = "", signature = "", ...surplus] = token.split(".");
    if (signature === "" || surplus.length > 0) return undefined;
    const isSigned = verify(
      "sha256",
      Buffer.from(`${header}.${payload}`),
      { key: this.#keys.publicKey, dsaEncoding: "ieee-p1363" },
      Buffer.from(signature, "base64url"),
    );
    if (!isSigned) return undefined;
    // Only `issue` signs with this key, so the payload has its shape.
    const claims = JSON.parse(Buffer.from(payload, "base64url").toString()) as TokenClaims;
    const now = this.#clock.now() / 1000;
    return claims.nbf <= now && now < claims.exp ? claims : undefined;
  }
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
