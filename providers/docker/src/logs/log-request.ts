import type { LogWindow } from "./log-window.ts";

/** Query of the engine's logs. */
export interface LogQuery {
  readonly [name: string]: string | number | boolean | undefined;
}

/** Entries from so long before the wanted time are read, too, in seconds: one of them may begin a line that goes on then. */
const marginSeconds = 1;

/**
 * The query for a container's output, with the time of each entry: without them nobody can tell the parts of a long line
 * from lines.
 *
 * @param range - `window`: only what is in it, its end left open when following; `sinceTime`: nothing that was written
 * well before, RFC 3339; `tail`: that many entries
 */
export function logQuery({
  follow,
  window,
  sinceTime,
  tail,
}: {
  readonly follow: boolean;
  readonly window?: LogWindow | undefined;
  readonly sinceTime?: string | undefined;
  readonly tail?: number | undefined;
}): LogQuery {
  const since = laterOf(window && engineTime(window.since), sinceTime === undefined ? undefined : secondsBefore(sinceTime));
  return {
    stdout: true,
    stderr: true,
    timestamps: true,
    follow,
    since,
    until: window && !follow ? engineTime(window.until) : undefined,
    tail,
  };
}

/** An entry's time as the engine takes it: seconds and nanoseconds. It refuses RFC 3339. */
export function engineTime(time: string): string {
  const [, fraction = ""] = /\.(\d+)/.exec(time) ?? [];
  return `${Math.floor(Date.parse(time) / 1000)}.${fraction.padEnd(9, "0").slice(0, 9)}`;
}

/** Whether one of {@link engineTime}s is before the other. */
export function isEarlier(one: string, other: string): boolean {
  return one.length === other.length ? one < other : one.length < other.length;
}

function secondsBefore(time: string): string {
  return `${Math.max(0, Math.floor(Date.parse(time) / 1000) - marginSeconds)}.000000000`;
}

function laterOf(one: string | undefined, other: string | undefined): string | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return isEarlier(one, other) ? other : one;
}
