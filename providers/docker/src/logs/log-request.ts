import type { LogWindow } from "./log-window.ts";

/** Query parameters of the engine's logs. */
export interface LogQuery {
  readonly [name: string]: string | number | boolean | undefined;
}

/** Time before the wanted time that is read, too, in seconds, because a line may start there. */
const marginSeconds = 1;

/**
 * Query for a container's log. It includes the time of each entry, which is needed to tell parts of a long line from lines.
 *
 * @param range - `window`: only its entries, without an end when following; `sinceTime`: skips entries from well before, RFC 3339; `tail`:
 * number of entries
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

/** An entry's time in the engine's format, seconds and nanoseconds, because it refuses RFC 3339. */
export function engineTime(time: string): string {
  const [, fraction = ""] = /\.(\d+)/.exec(time) ?? [];
  return `${Math.floor(Date.parse(time) / 1000)}.${fraction.padEnd(9, "0").slice(0, 9)}`;
}

/** Whether one {@link engineTime} is before the other. */
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
