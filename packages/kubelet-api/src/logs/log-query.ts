import type { ContainerLogOptions } from "@virtual-kubelet/core";
import { parseQuery, type Query } from "../server/query.ts";
import { Refusal } from "../server/refusal.ts";
import { parseLogTime, formatLogTime } from "./log-time.ts";

/** Parsed query of a log request. `sinceSeconds` is converted to a time. */
export type LogQuery = ContainerLogOptions;

const streams: ReadonlySet<string> = new Set(["All", "Stdout", "Stderr"]);

/**
 * Parses the query of a log request, a `PodLogOptions`. Unknown parameters are ignored, and of several values the first is used.
 *
 * Source: kubernetes v1.36.3 pkg/kubelet/server/server.go `getContainerLogs`, core/validation `ValidatePodLogOptions`.
 *
 * @param nowMs - wall-clock time in milliseconds since 1970
 * @throws Refusal 400 for malformed values, 422 for invalid ones, 400 if only stdout or only stderr is requested
 */
export function parseLogQuery(text: string, nowMs: number): LogQuery {
  const query = decode(text);
  const tail = query.first("tail");
  const tailLines = tail === "all" ? undefined : integer(tail === undefined || tail === "" ? query.first("tailLines") : tail);
  const limitBytes = integer(query.first("limitBytes"));
  const sinceSeconds = integer(query.first("sinceSeconds"));
  const sinceTime = time(query.first("sinceTime"));
  const stream = query.first("stream");

  const invalid =
    (tailLines !== undefined && tailLines < 0) ||
    (limitBytes !== undefined && limitBytes < 1) ||
    (sinceSeconds !== undefined && sinceSeconds < 1) ||
    (sinceSeconds !== undefined && sinceTime !== undefined) ||
    (stream !== undefined && (!streams.has(stream) || (stream !== "All" && tailLines !== undefined)));
  if (invalid) throw new Refusal(422, '{"message": "Invalid request."}');
  if (stream !== undefined && stream !== "All")
    throw new Refusal(
      400,
      `unable to return the given log stream: "${stream}". Please enable PodLogsQuerySplitStreams feature gate in kubelet`,
    );

  return {
    follow: flag(query.first("follow")),
    previous: flag(query.first("previous")),
    timestamps: flag(query.first("timestamps")),
    sinceTime: sinceSeconds === undefined ? sinceTime : since(nowMs, sinceSeconds),
    tailLines,
    limitBytes,
  };
}

function undecodable(cause?: unknown): Refusal {
  return new Refusal(400, '{"message": "Unable to decode query."}', { cause });
}

function decode(text: string): Query {
  try {
    return parseQuery(text);
  } catch (error) {
    throw undecodable(error);
  }
}

/** Absent, `0` and `false` mean false; everything else, including the empty value, means true. */
function flag(value: string | undefined): boolean {
  return value !== undefined && value !== "0" && value.toLowerCase() !== "false";
}

function integer(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const number = /^[-+]?[0-9]{1,19}$/.test(value) ? Number(value) : Number.NaN;
  // A number beyond the safe integers exceeds every log, so clamping does not change the result.
  if (Number.isNaN(number) || Math.abs(number) >= 2 ** 63) throw undecodable();
  return Math.max(Math.min(number, Number.MAX_SAFE_INTEGER), Number.MIN_SAFE_INTEGER);
}

function time(value: string | undefined): string | undefined {
  if (value === undefined || value === "" || value === "null") return undefined;
  if (parseLogTime(value) === undefined) throw undecodable();
  return value;
}

/** The time `seconds` ago, but not before 1970. */
function since(nowMs: number, seconds: number): string {
  const ms = Math.max(0, nowMs - seconds * 1000);
  return formatLogTime({ seconds: Math.floor(ms / 1000), nanos: Math.floor(ms % 1000) * 1_000_000 });
}
