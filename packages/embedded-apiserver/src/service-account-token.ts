import type { Clock, Random } from "@virtual-kubelet/clock";
import { createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify, type KeyObject } from "node:crypto";

/** The claims of a token the server issued. */
export interface TokenClaims {
  readonly iss: string;
  readonly sub: string;
  readonly aud: readonly string[];
  /** Seconds since the epoch. */
  readonly iat: number;
  readonly nbf: number;
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

/** An object a token names. */
export interface BoundObject {
  readonly name: string;
  readonly uid: string;
}

/** What a token is asked for. */
export interface TokenSpec {
  readonly namespace: string;
  readonly serviceAccount: BoundObject;
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
  /** What the token lives and dies with, besides its service account. */
  readonly bound?: { readonly pod?: BoundObject; readonly node?: BoundObject; readonly secret?: BoundObject } | undefined;
}

/** The issuer of the tokens, and their audience unless another is asked for. */
export const tokenIssuer = "https://kubernetes.default.svc.cluster.local";

/**
 * Issues and checks service-account tokens: JSON Web Tokens signed with ES256, by a key of this server's own.
 *
 * Source of the claims: pkg/serviceaccount/claims.go of Kubernetes v1.36.3.
 */
export class ServiceAccountTokens {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #privateKey: KeyObject;
  readonly #publicKey: KeyObject;

  constructor(deps: { readonly clock: Clock; readonly random: Random; readonly privateKeyPem?: string | undefined }) {
    this.#clock = deps.clock;
    this.#random = deps.random;
    this.#privateKey =
      deps.privateKeyPem === undefined
        ? generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey
        : createPrivateKey(deps.privateKeyPem);
    this.#publicKey = createPublicKey(this.#privateKey);
  }

  /** The public key, PEM: whoever has it can check the tokens. */
  get publicKeyPem(): string {
    return this.#publicKey.export({ type: "spki", format: "pem" }).toString();
  }

  /** Issues a token. @returns it, and when it expires, in seconds since the epoch. */
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
    const signed = `${encode({ alg: "ES256", typ: "JWT" })}.${encode(claims)}`;
    const signature = sign("sha256", Buffer.from(signed), { key: this.#privateKey, dsaEncoding: "ieee-p1363" }).toString("base64url");
    return { token: `${signed}.${signature}`, expiresAtSeconds: claims.exp };
  }

  /** The claims of a token that this server issued and that is valid now; of any other `undefined`. */
  verify(token: string): TokenClaims | undefined {
    const [header = "", payload = "", signature = "", ...surplus] = token.split(".");
    if (signature === "" || surplus.length > 0) return undefined;
    const isSigned = verify(
      "sha256",
      Buffer.from(`${header}.${payload}`),
      { key: this.#publicKey, dsaEncoding: "ieee-p1363" },
      Buffer.from(signature, "base64url"),
    );
    if (!isSigned) return undefined;
    // Signed by this server, hence of the shape it gives them.
    const claims = JSON.parse(Buffer.from(payload, "base64url").toString()) as TokenClaims;
    const now = this.#clock.now() / 1000;
    return claims.nbf <= now && now < claims.exp ? claims : undefined;
  }
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
