import type { Clock } from "@virtual-kubelet/core";

/** Milliseconds between two looks at the output. */
const intervalMs = 1000;

/** What {@link followOutput} needs. */
export interface FollowOptions {
  /** Where it begins. */
  readonly fromByte: number;
  /** What was written from that byte on. */
  read(fromByte: number): Promise<Uint8Array>;
  hasEnded(): Promise<boolean>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** What a job writes from now on, to its end, for an API that can only be asked again and again. */
export async function* followOutput({ fromByte, read, hasEnded, clock, signal }: FollowOptions): AsyncGenerator<Uint8Array, void> {
  for (let from = fromByte; ; await clock.sleep(intervalMs, signal)) {
    // Asked first: what it wrote until its end is read after that.
    const isLast = await hasEnded();
    const chunk = await read(from);
    from += chunk.length;
    if (chunk.length > 0) yield chunk;
    if (isLast) return;
  }
}
