import type { IncomingHttpHeaders } from "node:http";
import type { TLSSocket } from "node:tls";

/** Who calls, in the API server's words. */
export interface User {
  readonly name: string;
  readonly uid?: string | undefined;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined;
}

/** What of a request says who calls; an `IncomingMessage` on TLS is one. */
export interface CredentialSource {
  readonly headers: IncomingHttpHeaders;
  /**
   * The server asks for a client certificate and refuses none, so `authorized` says whether the one shown is the client
   * CA's. A resumed session without a certificate is `authorized` as well, so the certificate has to be looked at, too.
   */
  readonly socket: Pick<TLSSocket, "authorized" | "getPeerCertificate">;
  /**
   * The client CA, in PEM, that `authorized` was found by: a connection may be older than the one in force, and the one
   * in force may not have come into use. Absent: it is not known, and `authorized` counts for nothing.
   */
  readonly judgedBy?: string | undefined;
}

/** What a request wants to do. The resource is always `nodes`, of the core group's `v1`. */
export interface AccessAttributes {
  /** `get`, `create`, …; empty for a method that has none. Exec, attach, run and port-forward are `create` by any method. */
  readonly verb: string;
  /** One of them has to be allowed; they are asked for in this order. Never empty. */
  readonly subresources: readonly string[];
  readonly nodeName: string;
  /** The request's path, without its query. */
  readonly path: string;
}

/** Whether a request may be served. */
export type AccessDecision = { readonly allowed: true } | { readonly allowed: false; readonly reason?: string | undefined };

/**
 * Who may call the server. Both methods are asked for every request, upgrades included, before anything else is looked at.
 * What they throw refuses the request: nothing is served on an error.
 */
export interface AccessControl {
  /**
   * Says who calls.
   *
   * @returns `undefined` if the request has no credentials that hold; it is answered 401
   * @throws UnavailableError if that cannot be found out; it is answered 401 as well, and logged
   */
  authenticate(request: CredentialSource, signal: AbortSignal): Promise<User | undefined>;
  /**
   * Says whether the caller may. A refusal is answered 403.
   *
   * @throws UnavailableError if that cannot be found out; it is answered 500
   */
  authorize(user: User, attributes: AccessAttributes, signal: AbortSignal): Promise<AccessDecision>;
}
