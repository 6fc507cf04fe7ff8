import type { IncomingHttpHeaders } from "node:http";
import type { TLSSocket } from "node:tls";

/** Caller identity, with the fields of TokenReview's `status.user`. */
export interface User {
  readonly name: string;
  readonly uid?: string | undefined;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined;
}

/** The part of a request that carries credentials. An `IncomingMessage` on a TLS connection satisfies it. */
export interface CredentialSource {
  readonly headers: IncomingHttpHeaders;
  /**
   * The server requests a client certificate but accepts connections without a valid one, so `authorized` says whether the certificate was
   * signed by the client CA. A resumed session without a certificate is `authorized` as well, so the certificate itself must also be
   * checked.
   */
  readonly socket: Pick<TLSSocket, "authorized" | "getPeerCertificate">;
  /**
   * Client CA bundle, in PEM, that `authorized` was computed with. It can differ from the bundle in force on connections that are older
   * than it. `undefined` when unknown: then `authorized` is not trusted.
   */
  readonly judgedBy?: string | undefined;
}

/** What a request wants to do. The resource is always `nodes` in the core group's `v1`. */
export interface AccessAttributes {
  /** `get`, `create`, …; empty for HTTP methods without a verb. Exec, attach, run and port-forward are always `create`. */
  readonly verb: string;
  /** Alternatives, checked in this order; one allowed sub-resource is enough. Never empty. */
  readonly subresources: readonly string[];
  readonly nodeName: string;
  /** Path of the request without its query. */
  readonly path: string;
}

/** Whether a request is allowed. The reason of a refusal is part of the answer. */
export type AccessDecision = { readonly allowed: true } | { readonly allowed: false; readonly reason?: string | undefined };

/**
 * Decides who may call the server. Both methods are called for every request, including upgrades, before it is routed. If either throws,
 * the request is refused.
 */
export interface AccessControl {
  /**
   * Identifies the caller.
   *
   * @returns `undefined` if the request has no valid credentials; the server answers 401
   * @throws UnavailableError if the credentials cannot be checked; the server answers 401 and logs the error
   */
  authenticate(request: CredentialSource, signal: AbortSignal): Promise<User | undefined>;
  /**
   * Decides whether the caller may do what the request asks. A refusal is answered with 403.
   *
   * @throws UnavailableError if that cannot be decided; the server answers 500
   */
  authorize(user: User, attributes: AccessAttributes, signal: AbortSignal): Promise<AccessDecision>;
}
