import type { Clock } from "@virtual-kubelet/core";

/** Interval at which the output is polled. */
const intervalMs = 1000;

export interface FollowOptions {
  /** Offset of the first byte to return. */
  readonly fromByte: number;
  /** Reads the output from a byte offset on. */
  read(fromByte: number): Promise<Uint8Array>;
  hasEnded(): Promise<boolean>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Follows a job's output to its end by polling the API. */
export async function* followOutput({ fromByte, read, hasEnded, clock, signal }: FollowOptions): AsyncGenerator<Uint8Array, void> {
  for (let from = fromByte; ; await clock.sleep(intervalMs, signal)) {
    // Asked first, so that the following read contains everything written before the end.
    const isLast = await hasEnded();
    const chunk = await read(from);
    from += chunk.length;
    if (chunk.length > 0) yield chunk;
    if (isLast) return;
  }
}
