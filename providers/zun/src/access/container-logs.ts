import type { Clock, ContainerLogOptions, ContainerLogs } from "@virtual-kubelet/core";
import { isConflict } from "@virtual-kubelet/errdefs";
import type { ZunApi } from "../zun/zun-api.ts";

/** How often a followed log is asked for: Zun has no way to follow one. */
const followMs = 1_000;
/** States in which a container may still write. Source: zun 18.0.0 zun/common/consts.py. */
const live: ReadonlySet<string> = new Set(["Creating", "Created", "Running", "Paused", "Restarting", "Rebuilding"]);

export interface LogSource {
  readonly api: Pick<ZunApi, "logs">;
  readonly clock: Clock;
  /** Zun's word on the container as it is now; `undefined` if it is gone. */
  status(signal: AbortSignal): Promise<string | undefined>;
}

/** A container's output. Zun sends all of it in one piece; followed, it is asked again and again for what is new. */
export async function openLogs(
  uuid: string,
  { follow, sinceTime, tailLines }: ContainerLogOptions,
  source: LogSource,
  signal: AbortSignal,
): Promise<ContainerLogs> {
  const since = wholeSeconds(sinceTime);
  // Docker takes what is too old away before it counts lines, and a kubelet after.
  const tail = sinceTime === undefined ? tailLines : undefined;
  const text = await readLogs(uuid, source, { sinceSeconds: since, tail }, signal);
  return {
    data: pieceOf(text),
    ...(follow && { live: followLogs(uuid, lastOf(text), source, signal) }),
    timestamps: true,
    applied: [...(since === undefined ? [] : (["sinceTime"] as const)), ...(tail === undefined ? [] : (["tailLines"] as const))],
  };
}

/** How far a log has been read: the time of its last line, and how many lines have that time. */
interface Mark {
  readonly time: string;
  readonly count: number;
}

async function* followLogs(uuid: string, from: Mark, source: LogSource, signal: AbortSignal): AsyncGenerator<string, void, undefined> {
  let mark = from;
  for (;;) {
    // Asked first: what is written until then is in the last read.
    const status = await source.status(signal);
    const text = status === undefined ? "" : await readLogs(uuid, source, { sinceSeconds: wholeSeconds(mark.time, Math.floor) }, signal);
    const fresh = after(text, mark);
    if (fresh !== "") {
      mark = lastOf(text, mark);
      yield fresh;
    }
    if (status === undefined || !live.has(status)) return;
    await source.clock.sleep(followMs, signal);
  }
}

async function readLogs(
  uuid: string,
  { api }: LogSource,
  query: { readonly sinceSeconds?: number | undefined; readonly tail?: number | undefined },
  signal: AbortSignal,
): Promise<string> {
  try {
    return await api.logs(uuid, { timestamps: true, ...query }, signal);
  } catch (error) {
    // It is being made, or starts again: there is nothing yet.
    if (isConflict(error)) return "";
    throw error;
  }
}

/** Lines that come after the mark. Times of one container never go back. */
function after(text: string, { time, count }: Mark): string {
  let seen = 0;
  return text
    .split(/(?<=\n)/)
    .filter((line) => {
      const lineTime = timeOf(line);
      if (lineTime !== time) return lineTime > time;
      return ++seen > count;
    })
    .join("");
}

function lastOf(text: string, before: Mark = { time: "", count: 0 }): Mark {
  const times = text.split("\n").filter(Boolean).map(timeOf);
  const last = times.at(-1);
  return last === undefined ? before : { time: last, count: times.filter((time) => time === last).length };
}

/** Docker writes nine digits of a second, so that times are in the order of their texts. */
function timeOf(line: string): string {
  return line.slice(0, line.indexOf(" "));
}

/** The time in whole seconds; `undefined` if it is none, or not whole and may not be rounded. */
function wholeSeconds(time: string | undefined, round?: (seconds: number) => number): number | undefined {
  const seconds = Date.parse(time ?? "") / 1000;
  if (Number.isNaN(seconds)) return undefined;
  return round ? round(seconds) : Number.isInteger(seconds) ? seconds : undefined;
}

async function* pieceOf(text: string): AsyncGenerator<string, void, undefined> {
  if (text !== "") yield text;
}
