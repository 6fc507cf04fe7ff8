import type { BackendLimits } from "../backend/backend-limits.ts";
import type { PodState } from "../state/pod-state.ts";

/** Intervals between looks at one object, in milliseconds. */
export interface LookIntervals {
  /** First look after a change. */
  readonly firstMs: number;
  /** Longest interval while the object changes by itself. */
  readonly changingMs: number;
  /** Interval for an object that does not change; `undefined`: never. */
  readonly stableMs: number | undefined;
}

/** Share of a published rate that descriptions of unchanged objects may use. */
const stableShare = 0.35;

/**
 * Intervals for a number of objects: `pollMs` while something changes. Descriptions of unchanged objects use a third of the back end's read rate.
 *
 * @param pollMs - configured interval of lists while something changes
 */
export function lookIntervals(
  pollMs: number,
  objects: number,
  { rates, describeBatch, listShowsChanges }: Pick<BackendLimits, "rates" | "describeBatch" | "listShowsChanges">,
): LookIntervals {
  const perSecond = Math.min(...(rates["read"] ?? []).map((rate) => rate.perSecond)) * describeBatch * stableShare;
  const fairMs = Number.isFinite(perSecond) ? (objects / perSecond) * 1000 : 0;
  return {
    firstMs: Math.min(1_000, pollMs),
    changingMs: Math.max(pollMs * 2, fairMs / 2),
    stableMs: listShowsChanges ? undefined : Math.max(pollMs * 12, fairMs),
  };
}

/**
 * Interval before the next description of a pod's object; `undefined`: it needs none.
 *
 * @param pauseMs - the last interval; `undefined` after a change
 */
export function nextPauseMs<Remote, Memory>(
  state: PodState<Remote, Memory>,
  pauseMs: number | undefined,
  { firstMs, changingMs, stableMs }: LookIntervals,
): number | undefined {
  const growing = Math.max(firstMs, Math.min((pauseMs ?? 0) * 1.5, changingMs));
  switch (state.kind) {
    case "creating":
    case "gone":
    case "ended":
      return undefined;
    case "waiting":
      return undefined;
    case "unclear":
    case "missing":
    case "deleting":
      return growing;
    case "present":
      return state.object.observation?.progress === "running" ? stableMs : growing;
    default:
      return state satisfies never;
  }
}

/** Whether the pod's state changes without being asked, so that lists are read at the short interval. */
export function isChanging<Remote, Memory>(state: PodState<Remote, Memory>): boolean {
  switch (state.kind) {
    case "creating":
    case "unclear":
    case "missing":
    case "deleting":
      return true;
    case "present":
      return state.object.observation?.progress !== "running";
    case "waiting":
    case "ended":
    case "gone":
      return false;
    default:
      return state satisfies never;
  }
}
