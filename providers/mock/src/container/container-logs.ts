import type { ContainerLogOptions, ContainerLogs } from "@virtual-kubelet/core";
import { NotFoundError } from "@virtual-kubelet/errdefs";
import type { Container } from "./container-state.ts";

/** Lines handed over in one piece. */
const chunkLines = 128;

/** The output of one run of a container: which lines it has written follows from how long it has run. */
export interface RunLog {
  /** Wall-clock milliseconds at its start. */
  readonly startMs: number;
  /** How long it ran, or has run by now. */
  readonly ranMs: number;
  readonly ended: boolean;
  /** All written at the start; with `everyMs` one after another and over again. */
  readonly lines: readonly string[];
  readonly everyMs: number | undefined;
}

/** Where the logs of a container are read. */
export interface LogSource {
  /** The container's logs as they are now. @throws NotFoundError */
  read(): RunLog;
  /** Resolves when the container may have changed or, at the latest, at that time of its run. */
  wait(untilRanMs: number | undefined, signal: AbortSignal): Promise<void>;
}

/** What a container without a log of its own says. */
export function defaultLines(container: Pick<Container, "name" | "image">, pod: string): readonly string[] {
  return [`container ${container.name} of pod ${pod} started; image ${container.image} runs in the mock provider's memory only`];
}

/** How many lines the run has written. */
export function writtenLines({ lines, everyMs, ranMs }: RunLog): number {
  if (lines.length === 0) return 0;
  return everyMs === undefined ? lines.length : Math.floor(ranMs / everyMs) + 1;
}

/** When the next line comes, in milliseconds of the run; `undefined` if there is none to come. */
export function nextLineMs(log: RunLog): number | undefined {
  return log.everyMs === undefined || log.lines.length === 0 ? undefined : writtenLines(log) * log.everyMs;
}

/** Lines `from` to before `to`, each with its time. */
export function formatLines({ lines, everyMs = 0, startMs }: RunLog, from: number, to: number): string {
  let text = "";
  for (let index = from; index < to; index++)
    text += `${new Date(startMs + index * everyMs).toISOString()} ${lines[index % lines.length] ?? ""}\n`;
  return text;
}

/** A container's logs as a provider gives them. Its tail and its time are applied, for a log may be long. */
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

/** What one run writes from its line `from` on. A container that is started anew has another log. */
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

/** How many of the lines are older than the time. */
function linesBefore({ startMs, everyMs, lines }: RunLog, sinceTime: string | undefined): number {
  if (sinceTime === undefined) return 0;
  const behindMs = Date.parse(sinceTime) - startMs;
  if (!(behindMs > 0)) return 0;
  return everyMs === undefined ? lines.length : Math.ceil(behindMs / everyMs);
}
