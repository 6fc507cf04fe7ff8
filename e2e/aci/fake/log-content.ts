import { hasEnded } from "../../support/container-host/container-host.ts";
import type { FakeContainer } from "./fake-container.ts";

/** Maximum sizes. Source: https://learn.microsoft.com/rest/api/container-instances/containers/list-logs, 2026-11: running containers 4 MB, stopped ones 16 KB or 1,000 lines. */
const maxima = { runningBytes: 4_000_000, endedBytes: 16_000, endedLines: 1000 };

/** Selection of {@link logContent}. */
export interface LogSelection {
  /** Last lines. Default: all. */
  readonly tail?: number | undefined;
  readonly hasTimestamps: boolean;
}

/** Content of a container's log: the output of its last run that has started, cut at the front to the service's limits. */
export async function logContent(container: FakeContainer, { tail, hasTimestamps }: LogSelection): Promise<string> {
  const run = container.runs.findLast(({ history }) => history.some(({ kind }) => kind === "running"));
  if (!run) return "";
  const isOver = hasEnded(run.state);
  const lines = await run.log();
  const count = Math.min(tail ?? Infinity, isOver ? maxima.endedLines : Infinity);
  const kept = count === Infinity ? lines : lines.slice(Math.max(0, lines.length - count));
  const bytes = Buffer.from(kept.map(({ time, text }) => `${hasTimestamps ? `${time} ` : ""}${text}`).join(""));
  const limit = isOver ? maxima.endedBytes : maxima.runningBytes;
  // The cut is at a byte, which may be inside a character.
  return bytes.subarray(Math.max(0, bytes.length - limit)).toString("utf8");
}
