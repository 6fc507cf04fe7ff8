import type { Agent, OutgoingHttpHeaders } from "node:http";
import type { Duplex } from "node:stream";
import type { ConnectionOptions } from "node:tls";

/** Where an upgrade request goes. */
export interface UpgradeTarget {
  /** `http:` or `https:`, with path and query. */
  readonly url: string | URL;
  /** Sent besides those of the upgrade: credentials, say. */
  readonly headers?: OutgoingHttpHeaders | undefined;
  /** Certificates and the like, for `https:`. */
  readonly tls?: Pick<ConnectionOptions, "ca" | "cert" | "key" | "servername" | "rejectUnauthorized" | "checkServerIdentity"> | undefined;
  /** Opens connections; default: one of its own for each request. */
  readonly agent?: Agent | undefined;
  /** Gives the connection itself, TLS included, in place of {@link agent} and {@link tls}. */
  readonly connect?: (() => Duplex) | undefined;
}

/** A connection that has been upgraded already. */
export interface UpgradedConnection {
  readonly socket: Duplex;
  /** What was read behind the answer's head. */
  readonly head?: Buffer | undefined;
  /** What the answer's `X-Stream-Protocol-Version` says. */
  readonly protocol: string;
}
