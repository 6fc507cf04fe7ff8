import type { ContainerLogOptions, ContainerLogs } from "@virtual-kubelet/core";
import { NotFoundError } from "@virtual-kubelet/errdefs";
import type { Container } from "./container-state.ts";

/** Lines per chunk. */
const chunkLines = 128;

/** Output of one run of a container. The lines written so far follow from its running time. */
export interface RunLog {
  /** Wall-clock milliseconds at its start. */
  readonly startMs: number;
  /** Running time so far, or in total. */
  readonly ranMs: number;
  readonly ended: boolean;
  /** All lines are written at the start; with `everyMs` one by one, repeating from the beginning. */
  readonly lines: readonly string[];
  readonly everyMs: number | undefined;
}

/** Source of a container's logs. */
export interface LogSource {
  /** The current logs. @throws NotFoundError */
  read(): RunLog;
  /** Resolves when the container may have changed, or at the latest at that time of its run. */
  wait(untilRanMs: number | undefined, signal: AbortSignal): Promise<void>;
}

/** Log of a container whose script has none. */
export function defaultLines(container: Pick<Container, "name" | "image">, pod: string): readonly string[] {
  return [`container ${container.name} of pod ${pod} started; image ${container.image} runs in the mock provider's memory only`];
}

/** Number of lines that the run has written. */
function writtenLines({ lines, everyMs, ranMs }: RunLog): number {
  if (lines.length === 0) return 0;
  return everyMs === undefined ? lines.length : Math.floor(ranMs / everyMs) + 1;
}

/** Time of the next line in milliseconds of the run; `undefined` if there is none. */
function nextLineMs(log: RunLog): number | undefined {
  return log.everyMs === undefined || log.lines.length === 0 ? undefined : writtenLines(log) * log.everyMs;
}

/** Lines from `from` up to, but not including, `to`, each with its time. */
function formatLines({ lines, everyMs = 0, startMs }: RunLog, from: number, to: number): string {
  let text = "";
  for (let index = from; index < to; index++)
    text += `${new Date(startMs + index * everyMs).toISOString()} ${lines[index % lines.length] ?? ""}\n`;
  return text;
}

/** A container's logs as a provider returns them. The options for tail and since are applied here, because a log may be long. */
export function readContainerLogs(source: LogSource, options: ContainerLogOptions, signal: AbortSignal): ContainerLogs {
  const log = source.read();
  const count = writtenLines(log);
  const first = Math.max(0, options.tailLines === undefined ? 0 : count - options.tailLines);
  return {
    data: pieces(log, Math.max(first, linesBefore(log, options.sinceTime)), count, signal),
    ...(options.follow && !log.ended && { live: follow(source, log, count, signal) }),
    timestamps: true,
    applied: ["tailLines", "sinceTime"],
  };
}

async function* pieces(log: RunLog, from: number, to: number, signal: AbortSignal): AsyncGenerator<string, void, undefined> {
  for (let at = from; at < to; at += chunkLines) {
    signal.throwIfAborted();
    yield formatLines(log, at, Math.min(to, at + chunkLines));
  }
}

/** Yields the lines of one run from `from` on. A restarted container has a new log. */
async function* follow(source: LogSource, run: RunLog, from: number, signal: AbortSignal): AsyncGenerator<string, void, undefined> {
  let written = from;
  for (;;) {
    signal.throwIfAborted();
    const log = tryRead(source);
    if (!log || log.startMs !== run.startMs) return;
    const count = writtenLines(log);
    yield* pieces(log, written, count, signal);
    written = Math.max(written, count);
    if (log.ended) return;
    await source.wait(nextLineMs(log), signal);
  }
}

function tryRead(source: LogSource): RunLog | undefined {
  try {
    return source.read();
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
}

/** Number of lines that are older than the time. */
function linesBefore({ startMs, everyMs, lines }: RunLog, sinceTime: string | undefined): number {
  if (sinceTime === undefined) return 0;
  const behindMs = Date.parse(sinceTime) - startMs;
  if (!(behindMs > 0)) return 0;
  return everyMs === undefined ? lines.length : Math.ceil(behindMs / everyMs);
}
