import type { Agent, OutgoingHttpHeaders } from "node:http";
import type { Duplex } from "node:stream";
import type { ConnectionOptions } from "node:tls";

/** Destination of an upgrade request. */
export interface UpgradeTarget {
  /** `http:` or `https:`, with path and query. */
  readonly url: string | URL;
  /** Additional headers, such as credentials. */
  readonly headers?: OutgoingHttpHeaders | undefined;
  /** TLS options for `https:`. */
  readonly tls?: Pick<ConnectionOptions, "ca" | "cert" | "key" | "servername" | "rejectUnauthorized" | "checkServerIdentity"> | undefined;
  /** Agent that opens the connections. Default: a new connection for each request. */
  readonly agent?: Agent | undefined;
  /** Opens the connection, including TLS; replaces {@link agent} and {@link tls}. */
  readonly connect?: (() => Duplex) | undefined;
}

/** A connection that was already upgraded. */
export interface UpgradedConnection {
  readonly socket: Duplex;
  /** Bytes that were read after the response's head. */
  readonly head?: Buffer | undefined;
  /** Value of the response's `X-Stream-Protocol-Version`. */
  readonly protocol: string;
}
