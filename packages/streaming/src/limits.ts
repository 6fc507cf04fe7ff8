/** Bounds of one connection. The defaults are a kubelet's where it has them. */
export interface StreamingLimits {
  /** How long the other side may take to open the streams that belong to a session; default: 30,000. */
  readonly streamOpenMs?: number | undefined;
  /** How long a connection may carry nothing at all before it is closed; default: 14,400,000, four hours. */
  readonly idleMs?: number | undefined;
  /**
   * What a stream may hold that its reader has not taken yet, in bytes; the whole connection is read no further while one
   * holds more, or all of its streams together sixteen times as much. Default: 524,288. What a chunk costs beside its bytes
   * counts too.
   */
  readonly streamBufferBytes?: number | undefined;
  /** How many streams may be open at once on a connection that forwards ports, two for each forward; default: 512. More are refused. */
  readonly maxStreams?: number | undefined;
}

/** {@link StreamingLimits} with nothing left open. */
export type ResolvedLimits = { readonly [Name in keyof StreamingLimits]-?: number };

/** How long a connection may carry nothing at all, in milliseconds. */
export function resolveStreamIdleMs(limits: StreamingLimits | undefined): number {
  return resolveLimits(limits).idleMs;
}

/** The limits with their defaults. Source: kubernetes v1.36.3 k8s.io/cri-streaming, 30 s and 4 h. */
export function resolveLimits(limits: StreamingLimits | undefined): ResolvedLimits {
  return {
    streamOpenMs: limits?.streamOpenMs ?? 30_000,
    idleMs: limits?.idleMs ?? 4 * 3_600_000,
    streamBufferBytes: limits?.streamBufferBytes ?? 512 * 1024,
    maxStreams: limits?.maxStreams ?? 512,
  };
}
