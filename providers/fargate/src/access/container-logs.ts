import { InvalidInputError, isNotFound, messageOf, NotFoundError, UnavailableError, UnsupportedError } from "@virtual-kubelet/errdefs";
import type { LogSnapshot, SnapshotQuery } from "@virtual-kubelet/remote-pods";
import { maxLogEvents, type LogEvent, type LogsApi } from "../aws/logs-api.ts";
import type { FargateConfig } from "../config/schema.ts";

/** Maximum number of characters of a snapshot. If a container has written more, the oldest lines are left out. */
const maxSnapshotCharacters = 32 * 1024 * 1024;

export interface LogSource {
  readonly api: Pick<LogsApi, "read">;
  readonly config: Pick<FargateConfig, "logGroup" | "logStreamPrefix">;
}

/** Returns the name of a container's log stream. Source: Amazon ECS Developer Guide, "Using the awslogs log driver" (awslogs-stream-prefix). */
function logStreamOf(taskArn: string, container: string, prefix: string): string {
  return `${prefix}/${container}/${taskArn.split("/").at(-1) ?? taskArn}`;
}

/**
 * Reads a container's output: all pages, or the newest events if only the last lines are wanted.
 *
 * @throws UnsupportedError without a log group; NotFoundError if the group does not exist
 */
export async function readLogs(
  { api, config: { logGroup, logStreamPrefix } }: LogSource,
  { taskArn, container }: { readonly taskArn: string; readonly container: string },
  { tailLines, sinceTime }: SnapshotQuery,
  signal: AbortSignal,
): Promise<LogSnapshot> {
  if (logGroup === undefined)
    throw new UnsupportedError(`read the logs of container ${container}: the node has no log group; set logGroup and executionRoleArn`);
  const startTimeMs = sinceTime === undefined ? undefined : firstMsOf(sinceTime);
  if (Number.isNaN(startTimeMs))
    throw new InvalidInputError(`read the logs of container ${container} since ${sinceTime}: expected an RFC 3339 time`);
  const since = sinceTime === undefined ? [] : (["sinceTime"] as const);
  const position = { group: logGroup, stream: logStreamOf(taskArn, container, logStreamPrefix), startTimeMs };
  try {
    if (tailLines === undefined || tailLines > maxLogEvents)
      return { text: (await readAll(api, position, signal)).map(toLine).join(""), hasTimestamps: true, applied: since };
    const { events } = await api.read({ ...position, fromHead: false, limit: Math.max(1, tailLines) }, signal);
    const wanted = tailLines === 0 ? [] : events;
    return { text: wanted.map(toLine).join(""), hasTimestamps: true, applied: ["tailLines", ...since] };
  } catch (error) {
    if (!isNotFound(error)) throw error;
    if (/log group/i.test(messageOf(error)) && /does not exist/i.test(messageOf(error)) && !/log stream does/i.test(messageOf(error)))
      throw new NotFoundError(
        `read the logs of container ${container}: log group ${logGroup} does not exist; create it, or set createLogGroup`,
        {
          cause: error,
        },
      );
    // The stream appears with the first line.
    return { text: "", hasTimestamps: true };
  }
}

/** First millisecond that is not before a time of RFC 3339; CloudWatch has no parts of milliseconds. */
function firstMsOf(time: string): number {
  return Date.parse(time) + (/\.\d{3}0*[1-9]/.test(time) ? 1 : 0);
}

async function readAll(
  api: Pick<LogsApi, "read">,
  position: { readonly group: string; readonly stream: string; readonly startTimeMs: number | undefined },
  signal: AbortSignal,
): Promise<readonly LogEvent[]> {
  const pages: (readonly LogEvent[])[] = [];
  const tokens = new Set<string>();
  let characters = 0;
  let token: string | undefined;
  for (;;) {
    const page = await api.read({ ...position, fromHead: true, nextToken: token }, signal);
    if (page.events.length > 0) pages.push(page.events);
    characters += sizeOf(page.events);
    while (pages.length > 1 && characters > maxSnapshotCharacters) characters -= sizeOf(pages.shift() ?? []);
    // AWS returns the same token again at the end; a page may be empty before.
    if (page.nextForwardToken === undefined || page.nextForwardToken === token) return pages.flat();
    token = page.nextForwardToken;
    if (tokens.has(token)) throw new UnavailableError(`read log stream ${position.stream}: the pages of the answer go in a circle`);
    tokens.add(token);
  }
}

function sizeOf(events: readonly LogEvent[]): number {
  return events.reduce((sum, { message }) => sum + message.length, 0);
}

function toLine({ timeMs, message }: LogEvent): string {
  return `${new Date(timeMs).toISOString()} ${message}\n`;
}
