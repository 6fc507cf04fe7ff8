/** Limits of one connection. Defaults are the kubelet's if it has the limit. */
export interface StreamingLimits {
  /** Time for the client to open the streams of a session, in milliseconds. Default: 30,000. */
  readonly streamOpenMs?: number | undefined;
  /** Maximum time without any data on a connection, in milliseconds. Default: 14,400,000 (four hours). */
  readonly idleMs?: number | undefined;
  /**
   * Maximum bytes that a stream buffers for a slow reader, including the overhead per chunk. The connection is not read while one stream
   * exceeds this, or all of its streams together sixteen times as much. Default: 524,288.
   */
  readonly streamBufferBytes?: number | undefined;
  /** Maximum number of open streams of a port-forward connection, two for each forwarded connection. More are refused. Default: 512. */
  readonly maxStreams?: number | undefined;
}

/** {@link StreamingLimits} with defaults applied. */
export type ResolvedLimits = { readonly [Name in keyof StreamingLimits]-?: number };

/** Maximum time without any data on a connection, in milliseconds. */
export function resolveStreamIdleMs(limits: StreamingLimits | undefined): number {
  return resolveLimits(limits).idleMs;
}

/** Source of the defaults: kubernetes v1.36.3 k8s.io/cri-streaming, 30 s and 4 h. */
export function resolveLimits(limits: StreamingLimits | undefined): ResolvedLimits {
  return {
    streamOpenMs: limits?.streamOpenMs ?? 30_000,
    idleMs: limits?.idleMs ?? 4 * 3_600_000,
    streamBufferBytes: limits?.streamBufferBytes ?? 512 * 1024,
    maxStreams: limits?.maxStreams ?? 512,
  };
}
