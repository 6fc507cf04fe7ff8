/** Time as this package sees it; kube-client's `Clock` is one. */
export interface Clock {
  /** Milliseconds on a clock that never goes back. */
  monotonic(): number;
  /** Calls back once, after `ms` milliseconds. @returns a handle that cancels it when disposed. */
  setTimer(ms: number, callback: () => void): Disposable;
}
