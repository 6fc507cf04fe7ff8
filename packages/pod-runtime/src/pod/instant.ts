/** One moment on both clocks. */
export interface Instant {
  /** Wall-clock time in milliseconds since the epoch, for time stamps. It may jump. */
  readonly wallMs: number;
  /** Milliseconds on a clock that never goes back, for durations and deadlines. */
  readonly monotonicMs: number;
}
