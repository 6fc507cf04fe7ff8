import type { AppliedLogOption, ContainerLogOptions, ContainerLogs } from "@virtual-kubelet/core";
import type { BudgetShare } from "@virtual-kubelet/streaming";
import { parseLogTime } from "./log-time.ts";
import { LineSkipper, TailBuffer } from "./tail-buffer.ts";
import { TimedLines } from "./timed-lines.ts";
import { iterateUntilAborted } from "./iterate-until-aborted.ts";

/** Maximum bytes of a tail held in memory. Larger tails are read twice. */
const defaultMaxTailBytes = 16 * 1024 * 1024;

export interface LogBodyOptions {
  readonly signal: AbortSignal;
  /** Requests the same logs again, for a tail that is too large for memory. */
  readonly reopen: () => Promise<ContainerLogs>;
  /** Default: 16 MiB. */
  readonly maxTailBytes?: number | undefined;
  /** Share of the caller in the budget for all tails. Default: only {@link maxTailBytes} limits the tail. */
  readonly tailShare?: BudgetShare | undefined;
}

/** Explains why the options cannot be applied to these logs; `undefined` if they can. */
export function missingTimes(logs: ContainerLogs, options: ContainerLogOptions): string | undefined {
  if (logs.timestamps === true) return undefined;
  if (options.timestamps) return "the provider's logs have no times, so --timestamps is not possible";
  if (options.sinceTime === undefined || isApplied(logs, "sinceTime")) return undefined;
  return "the provider's logs have no times, so --since and --since-time are not possible";
}

/**
 * Applies the log options that the back end has not applied itself. Bytes are passed through without reading ahead, and the length of lines
 * is not limited.
 *
 * Order: tail, then since, then timestamps, then byte limit.
 *
 * @throws what the logs throw, and `signal.reason`
 */
export async function* applyLogOptions(
  logs: ContainerLogs,
  options: ContainerLogOptions,
  body: LogBodyOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  let left = isApplied(logs, "limitBytes") ? Infinity : (options.limitBytes ?? Infinity);
  const lines = timedLines(logs, options);
  for await (const chunk of withEnd(source(logs, options, body), lines)) {
    if (chunk.length >= left) {
      yield chunk.subarray(0, left);
      return;
    }
    left -= chunk.length;
    if (chunk.length > 0) yield chunk;
  }
}

function isApplied(logs: ContainerLogs, option: AppliedLogOption): boolean {
  return logs.applied?.includes(option) ?? false;
}

/** Editor for the lines; `undefined` if the lines need no change. */
function timedLines(logs: ContainerLogs, options: ContainerLogOptions): TimedLines | undefined {
  if (logs.timestamps !== true) return undefined;
  const since = options.sinceTime === undefined || isApplied(logs, "sinceTime") ? undefined : parseLogTime(options.sinceTime);
  return new TimedLines({ keepTimes: options.timestamps, since });
}

async function* withEnd(source: AsyncIterable<Uint8Array>, lines: TimedLines | undefined): AsyncGenerator<Uint8Array, void, undefined> {
  if (!lines) return yield* source;
  for await (const chunk of source) yield lines.push(chunk);
  yield lines.end();
}

/** The logs' bytes, starting with the tail. */
async function* source(
  logs: ContainerLogs,
  options: ContainerLogOptions,
  body: LogBodyOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  let live = logs.live;
  if (options.tailLines === undefined || isApplied(logs, "tailLines")) {
    yield* bytesOf(logs.data, body.signal);
  } else {
    using tail = new TailBuffer(options.tailLines, body.maxTailBytes ?? defaultMaxTailBytes, body.tailShare);
    for await (const chunk of bytesOf(logs.data, body.signal)) tail.push(chunk);
    if (tail.overflowed) {
      const again = await body.reopen();
      const skip = new LineSkipper(tail.lines - options.tailLines);
      for await (const chunk of bytesOf(again.data, body.signal)) yield skip.push(chunk);
      live = again.live;
    } else yield* tail.take();
  }
  if (options.follow && live) yield* bytesOf(live, body.signal);
}

async function* bytesOf(chunks: AsyncIterable<Uint8Array | string>, signal: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const chunk of iterateUntilAborted(chunks, signal)) yield typeof chunk === "string" ? Buffer.from(chunk) : chunk;
}
