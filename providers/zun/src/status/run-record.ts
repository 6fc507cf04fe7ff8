import type { ObservedMember } from "./zun-object.ts";
import { tryEndDetail, tryUpMs } from "./status-detail.ts";

/** How a container's run ended. */
interface RunEnd {
  readonly exitCode: number;
  readonly finishedAt: string;
  readonly reason: string;
  readonly message?: string | undefined;
}

/** What is known of a container's runs: Zun does not tell since when one runs, nor how many there were. */
export interface RunRecord {
  readonly startedAt: string;
  /** Seen while we looked on. */
  readonly restarts: number;
  readonly hasRun: boolean;
  readonly end?: RunEnd | undefined;
  /** How the run before the present one ended; its exit code is unknown. */
  readonly lastEnd?: RunEnd | undefined;
}

/** Where Zun does not tell an exit code. A kubelet has the same for a container that it lost sight of. */
const unknownExitCode = 137;

/**
 * The record after what Zun says now. Where it does not tell how an init container ended, that has ended well: Zun has gone on.
 *
 * @param createdAt - when Zun made the container, RFC 3339: the first run's start, for Zun tells none
 */
export function nextRecord(
  before: RunRecord | undefined,
  member: ObservedMember,
  { createdAt, now, isInit }: { readonly createdAt: string; readonly now: string; readonly isInit: boolean },
): RunRecord {
  const record = before ?? { startedAt: createdAt, restarts: 0, hasRun: false };
  switch (member.status) {
    case "Running":
    case "Paused":
      if (!record.end || isSameRun(member, record.end, now)) return { ...record, hasRun: true, end: undefined };
      return { startedAt: now, restarts: record.restarts + 1, hasRun: true, lastEnd: record.end };
    case "Restarting":
      return record.end ? record : { ...record, hasRun: true, end: unseenEnd(now, record) };
    case "Stopped":
      return record.end && (record.end.reason !== unseen || (!isInit && !tryEndDetail(member.detail)))
        ? record
        : { ...record, hasRun: true, end: endOf(member, record, { now, isInit }) };
    case "Error":
    case "Dead":
      return record.end ? record : { ...record, end: failure(member, record, now) };
    default:
      return record;
  }
}

/** Reason of an end whose exit code Zun has not told. */
export const unseen = "ContainerStatusUnknown";

/** How much later than it did a run may seem to have begun: the times here are whole seconds, and so are Zun's. */
const roundingMs = 2_000;

/**
 * Whether what runs has run since before an end that was announced: Zun calls a container Restarting, or Stopped, once it has taken the
 * request, and may lose the request then. An end with an exit code has been.
 */
function isSameRun({ detail }: ObservedMember, { reason, finishedAt }: RunEnd, now: string): boolean {
  const upMs = reason === unseen ? tryUpMs(detail) : undefined;
  return upMs !== undefined && upMs > Date.parse(now) - Date.parse(finishedAt) + roundingMs;
}

function unseenEnd(now: string, { startedAt }: RunRecord): RunEnd {
  return {
    exitCode: unknownExitCode,
    finishedAt: later(startedAt, now),
    reason: unseen,
    message: "Zun restarts the container, and does not tell its exit code",
  };
}

function endOf({ detail }: ObservedMember, record: RunRecord, { now, isInit }: { readonly now: string; readonly isInit: boolean }): RunEnd {
  const told = tryEndDetail(detail);
  if (!told && isInit)
    return { exitCode: 0, finishedAt: later(record.startedAt, now), reason: "Completed", message: "Zun went on to the next container" };
  if (!told) return { ...unseenEnd(now, record), message: "Zun does not tell the exit code" };
  const { exitCode, agoMs = 0 } = told;
  const finishedAt = new Date(Date.parse(now) - agoMs).toISOString().replace(/\.\d+Z$/, "Z");
  return {
    // Docker's -1 is a container that it could not run.
    exitCode: exitCode >= 0 && exitCode <= 255 ? exitCode : 255,
    finishedAt: later(record.startedAt, finishedAt),
    reason: exitCode === 0 ? "Completed" : "Error",
  };
}

function failure({ status, reason }: ObservedMember, record: RunRecord, now: string): RunEnd {
  return {
    exitCode: record.hasRun ? unknownExitCode : 128,
    finishedAt: later(record.startedAt, now),
    reason: status === "Dead" ? "Dead" : record.hasRun ? "Error" : "StartError",
    ...(reason !== "" && { message: reason }),
  };
}

function later(a: string, b: string): string {
  return Date.parse(a) > Date.parse(b) ? a : b;
}
