/** Milliseconds since the epoch as Kubernetes writes them in `metav1.Time`: RFC 3339, UTC, whole seconds. */
export function toTimestamp(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}

/** Milliseconds since the epoch as Kubernetes writes them in `metav1.MicroTime`: six fractional digits. */
export function toMicroTimestamp(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 23)}000Z`;
}
