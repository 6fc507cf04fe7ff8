/** Options of `VirtualNode.run`. */
export interface RunOptions {
  /** Time limit after the abort for the shutdown policy and the calls in progress, in milliseconds; default: 30,000. */
  readonly shutdownTimeoutMs?: number | undefined;
  /**
   * Asked when the node stops: whether it is removed for good, because its counterpart at the back end is gone. Then its Node is deleted,
   * whatever `onShutdown` says, and the provider removes what is left of it (`removeNode`). Default: it is not.
   */
  readonly isRemoved?: (() => boolean) | undefined;
}

/** Health of a running node. */
export interface VirtualNodeHealth {
  /** Whether the node is registered and the first inventory is complete. */
  readonly ready: boolean;
  /** Whether this instance waits while another one runs the node; see `instance.standby`. */
  readonly standingBy: boolean;
  /** Whether the provider answered its last ping. */
  readonly providerUp: boolean;
  /** Milliseconds since the last news through the watch of pods; absent before the first. */
  readonly lastContactAgeMs: number | undefined;
  /** Milliseconds since the last renewal of the node's lease; absent before the first. */
  readonly leaseAgeMs: number | undefined;
  /** Number of pods that wait for an action or a status write. */
  readonly pendingPods: number;
  /** Number of pods with stored data: those bound to the node, and those that are gone at the API server and have not ended. */
  readonly knownPods: number;
}
