import type { StreamingLimits } from "@virtual-kubelet/streaming";

/** Limits of the server. Only the request or connection that exceeds a limit is refused or closed. */
export interface ServerLimits {
  /** Timeout for receiving a request's head, in milliseconds. Default: 10,000. */
  readonly headersTimeoutMs?: number | undefined;
  /** Timeout for receiving a whole request, in milliseconds. Default: 30,000. */
  readonly requestTimeoutMs?: number | undefined;
  /** Timeout of a TLS handshake, in milliseconds. Default: 10,000. */
  readonly handshakeTimeoutMs?: number | undefined;
  /** How long an idle connection is kept, in milliseconds. Default: 120,000, more than the API server's 90 s. */
  readonly keepAliveTimeoutMs?: number | undefined;
  /** Maximum size of a request's head, including the URL, in bytes. Default: 65,536. */
  readonly maxHeaderBytes?: number | undefined;
  /** Maximum number of headers of a request. Default: 512. */
  readonly maxHeaders?: number | undefined;
  /**
   * Maximum number of connections. Default: twice {@link maxStreams}. Beyond it, the oldest connection without an authorized request is
   * closed, or else the one that has been idle longest.
   */
  readonly maxConnections?: number | undefined;
  /**
   * Maximum number of connections without an authorized request from one address (for IPv6, one /64 network). Default: 256. Beyond it, the
   * oldest of them is closed.
   */
  readonly maxUnauthorizedPerAddress?: number | undefined;
  /**
   * Maximum number of open logs, commands and port-forward sessions. Default: 1,024, of which an eighth is reserved for logs. Beyond it,
   * the idlest stream of the largest holder is ended, or the new one is refused if nobody holds more than its caller.
   */
  readonly maxStreams?: number | undefined;
  /** How long open requests may take to end when the server stops, in milliseconds. Default: 2,000. */
  readonly shutdownMs?: number | undefined;
  /**
   * Maximum number of SPDY streams of port-forwards, two for each forwarded connection. Default: 4,096. One caller (a user in a namespace)
   * may hold as many as are left free.
   */
  readonly maxSharedStreams?: number | undefined;
  /**
   * Maximum bytes buffered for slow readers in pods, over all connections. Default: 67,108,864. Connections of a caller that holds more
   * than is left free are read only while they have nothing buffered.
   */
  readonly maxSharedBytes?: number | undefined;
  /** Maximum number of `portForward` calls in progress in one session. Default: 256. Further connections are reset. */
  readonly maxForwardsPerSession?: number | undefined;
  /** Maximum number of `portForward` calls in progress in all sessions. Default: 1,024. One caller may hold as many as are left free. */
  readonly maxForwards?: number | undefined;
  /** Limits of each exec, attach and port-forward. */
  readonly streaming?: StreamingLimits | undefined;
}

/** {@link ServerLimits} with defaults applied. */
export type ResolvedServerLimits = { readonly [Name in keyof ServerLimits]-?: NonNullable<ServerLimits[Name]> };

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
