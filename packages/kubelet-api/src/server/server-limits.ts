import type { StreamingLimits } from "@virtual-kubelet/streaming";

/** Bounds of the server. What exceeds them is refused or closed; nothing else is affected. */
export interface ServerLimits {
  /** How long a request's head may take to come, in milliseconds; default: 10,000. */
  readonly headersTimeoutMs?: number | undefined;
  /** How long a request may take to come as a whole, in milliseconds; default: 30,000. */
  readonly requestTimeoutMs?: number | undefined;
  /** How long a TLS handshake may take, in milliseconds; default: 10,000. */
  readonly handshakeTimeoutMs?: number | undefined;
  /** How long a connection is kept without a request, in milliseconds; default: 120,000, more than the API server's 90 s. */
  readonly keepAliveTimeoutMs?: number | undefined;
  /** Size of a request's head, URL included, in bytes; default: 65,536. */
  readonly maxHeaderBytes?: number | undefined;
  /** Number of a request's headers; default: 512. */
  readonly maxHeaders?: number | undefined;
  /**
   * Connections at once; default: twice as many as {@link maxStreams}. For one more the oldest ends on which nobody has been let in, or
   * else the one that has been kept without a request for longest.
   */
  readonly maxConnections?: number | undefined;
  /**
   * Connections at once from one address (with IPv6, one network of 64 bits) on which nobody has been let in; default: 256. For one more
   * the oldest ends.
   */
  readonly maxUnauthorizedPerAddress?: number | undefined;
  /**
   * Logs, commands and sessions of port-forward at once; default: 1,024, an eighth of which only logs get. Beyond that the idlest of who
   * holds most is ended, or the new one is refused where nobody holds more.
   */
  readonly maxStreams?: number | undefined;
  /** How long open requests may take to end when the server stops, in milliseconds; default: 2,000. */
  readonly shutdownMs?: number | undefined;
  /**
   * SPDY streams of port-forwards at once, two for each forward; default: 4,096. A caller (a user in a namespace) may have as many as
   * are left free.
   */
  readonly maxSharedStreams?: number | undefined;
  /**
   * Bytes of clients that wait for the reader in a pod, in all connections together; default: 67,108,864. Of a caller that holds
   * more than is left free, connections are read only while nothing waits in them.
   */
  readonly maxSharedBytes?: number | undefined;
  /** Calls of the provider's `portForward` that have not returned, in one session; default: 256. One more is reset. */
  readonly maxForwardsPerSession?: number | undefined;
  /** Such calls in all sessions together; default: 1,024. A caller may have as many as are left free. */
  readonly maxForwards?: number | undefined;
  /** Bounds of each exec, attach and port-forward. */
  readonly streaming?: StreamingLimits | undefined;
}

/** {@link ServerLimits} with nothing left open. */
export type ResolvedServerLimits = { readonly [Name in keyof ServerLimits]-?: NonNullable<ServerLimits[Name]> };

/** The limits with their defaults. */
export function resolveServerLimits(limits: ServerLimits = {}): ResolvedServerLimits {
  const maxStreams = limits.maxStreams ?? 1_024;
  return {
    headersTimeoutMs: limits.headersTimeoutMs ?? 10_000,
    requestTimeoutMs: limits.requestTimeoutMs ?? 30_000,
    handshakeTimeoutMs: limits.handshakeTimeoutMs ?? 10_000,
    keepAliveTimeoutMs: limits.keepAliveTimeoutMs ?? 120_000,
    maxHeaderBytes: limits.maxHeaderBytes ?? 64 * 1024,
    maxHeaders: limits.maxHeaders ?? 512,
    maxConnections: limits.maxConnections ?? 2 * maxStreams,
    maxUnauthorizedPerAddress: limits.maxUnauthorizedPerAddress ?? 256,
    maxStreams,
    maxForwardsPerSession: limits.maxForwardsPerSession ?? 256,
    maxForwards: limits.maxForwards ?? 1_024,
    maxSharedStreams: limits.maxSharedStreams ?? 4_096,
    maxSharedBytes: limits.maxSharedBytes ?? 64 * 1024 * 1024,
    shutdownMs: limits.shutdownMs ?? 2_000,
    streaming: limits.streaming ?? {},
  };
}
