import type { ContainerLogOptions, ContainerLogs } from "@virtual-kubelet/core";
import type { LogSnapshot } from "../backend/remote-backend.ts";
import { withoutCutEnd, type OutputCursor } from "./output-cursor.ts";
import type { SnapshotPollers } from "./snapshot-pollers.ts";
import type { OutputState, SnapshotSource } from "./snapshot-source.ts";
import { TextCursor } from "./text-cursor.ts";
import { TimedCursor } from "./timed-cursor.ts";

/**
 * Returns a container's output from a back end that returns it as snapshots. Followed output is polled for: each line is returned once, also if
 * the snapshots are a sliding window, begin or end within a line or a character, or begin again after a restart. Where output was lost between
 * two snapshots, a line says so. Failed polls are repeated. The output ends when the container has ended and was read once
 * more after the back end's log delay.
 *
 * Only what a back end says of a snapshot is `applied`, if the output is not followed: the node's server applies tail, since, times and limit to
 * what is returned. `tailLines` is passed on to the back end,
 * with at least {@link SnapshotPollers.tailLines} lines where the output is followed, because the next snapshot is laid over its end.
 *
 * @param pollers - those of the provider, in which followers of one container share one poller
 * @param key - of the container, such as the pod's UID and its name
 * @param options - `previous` is not heeded: the source is that of the run whose output is read
 * @throws what the first read throws
 */
export async function followSnapshots(
  pollers: SnapshotPollers,
  key: string,
  source: SnapshotSource,
  options: ContainerLogOptions,
  signal: AbortSignal,
): Promise<ContainerLogs> {
  const { follow, sinceTime, tailLines } = options;
  const state = source.state();
  const isFollowed = follow && pollers.mayGrow(state);
  // Back ends take a tail of no lines for a fault, or for all lines.
  if (!isFollowed && tailLines === 0) return { data: pieceOf(""), timestamps: false, applied: ["tailLines"] };
  const query = isFollowed
    ? { tailLines: tailLines === undefined ? undefined : Math.max(tailLines, pollers.tailLines) }
    : { tailLines, sinceTime };
  const snapshot = await source.read(query, signal);
  const first = isFollowed ? { ...snapshot, text: withoutCutEnd(snapshot.text) } : snapshot;
  const order = pollers.nextOrder();
  return {
    data: pieceOf(first.text),
    ...(isFollowed && { live: follower(pollers, key, source, { first, state, order }, signal) }),
    timestamps: first.hasTimestamps,
    ...(!isFollowed && snapshot.applied && { applied: snapshot.applied }),
  };
}

/** The snapshot with which a follower begins. */
interface Beginning {
  readonly first: LogSnapshot;
  readonly state: OutputState;
  /** Snapshots whose reads began earlier may be older. */
  readonly order: number;
}

async function* follower(
  pollers: SnapshotPollers,
  key: string,
  source: SnapshotSource,
  { first, state, order }: Beginning,
  signal: AbortSignal,
): AsyncGenerator<string, void, undefined> {
  using poller = pollers.join(key, source);
  const cursor = cursorOf(first);
  let [after, { instance }] = [order, state];
  let lastMs: number | undefined;
  for (;;) {
    const polled = await poller.next(after, signal);
    after = polled.order;
    const { isRunning, instance: now } = polled.state;
    if (!isRunning) lastMs ??= polled.atMs + pollers.logDelayMs;
    // What the back end no longer has will not grow.
    const isLast = lastMs !== undefined && (polled.atMs >= lastMs || (polled.isMissing && !isRunning));
    const hasRestarted = instance === undefined || now === undefined ? undefined : instance !== now;
    const context = { isLast, hasRestarted };
    const fresh =
      cursor.advance(polled.text, { ...context, isLimited: polled.isLimited }) ??
      cursor.advance((await poller.whole(signal)).text, { ...context, isLimited: false });
    instance = now ?? instance;
    if (fresh !== undefined && fresh !== "") yield fresh;
    if (context.isLast) return;
  }
}

function cursorOf({ text, hasTimestamps }: LogSnapshot): OutputCursor {
  return hasTimestamps ? new TimedCursor(text) : new TextCursor(text);
}

async function* pieceOf(text: string): AsyncGenerator<string, void, undefined> {
  if (text !== "") yield text;
}
