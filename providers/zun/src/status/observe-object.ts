import type { Observation, ObserveContext } from "@virtual-kubelet/remote-pods";
import { zunTime } from "../zun/zun-objects.ts";
import { toPodStatus } from "./pod-status.ts";
import { nextRecord, unseen, type RunRecord } from "./run-record.ts";
import type { ObservedMember, ZunObject } from "./zun-object.ts";

/** A restart that the provider has asked for. */
interface Reboot {
  /** Milliseconds since the epoch at which Zun accepted it. */
  readonly atMs: number;
  readonly isUnderWay: boolean;
  /** Whether the container that runs now, if any, is the one that is left after it. */
  readonly isOver: boolean;
}

/** Facts of an object that Zun does not keep. */
export interface ZunMemory {
  /** Runs by container name. */
  readonly records: ReadonlyMap<string, RunRecord>;
  readonly reboot?: Reboot | undefined;
}

/** Time within which an accepted restart begins; Zun begins it within a second. Until then Docker shows the container as running. */
const rebootBeginsMs = 3_000;
/** Time for which an exit code is waited for that Zun does not tell yet. */
const exitCodeMs = 60_000;

/**
 * Translates a container or capsule to a status. Pure.
 *
 * @param rebootedAtMs - when Zun last accepted a restart by the provider, in milliseconds since the epoch; `undefined`: never
 */
export function observeObject(
  object: ZunObject,
  { memory, nowMs, isEnding }: Pick<ObserveContext<ZunMemory>, "memory" | "nowMs" | "isEnding">,
  rebootedAtMs?: number,
): Observation<ZunMemory> {
  const reboot = rebootAfter(memory?.reboot, rebootedAtMs, object, nowMs);
  const isNew = reboot !== undefined && reboot.atMs !== memory?.reboot?.atMs;
  const announced = isNew ? recordsAfter(memory?.records, restarting(object), reboot.atMs) : memory?.records;
  const shown = reboot && !reboot.isOver ? restarting(object) : object;
  const records = recordsAfter(announced, shown, nowMs);
  const status = toPodStatus(shown, { recordOf: (name) => records.get(name), isEnding });
  const hasEnded = status.phase === "Succeeded" || status.phase === "Failed";
  const isAwaited =
    hasEnded && [...records.values()].some(({ end }) => end?.reason === unseen && nowMs - Date.parse(end.finishedAt) < exitCodeMs);
  return {
    progress: isAwaited ? "ending" : hasEnded ? "ended" : progressOf(shown),
    status: isAwaited ? { ...status, phase: "Running" } : status,
    createdAt: zunTime(object.createdAt),
    memory: { records, reboot },
  };
}

function rebootAfter(
  known: Reboot | undefined,
  atMs: number | undefined,
  { status, taskState }: ZunObject,
  nowMs: number,
): Reboot | undefined {
  if (atMs === undefined) return known;
  const before = known?.atMs === atMs ? known : { atMs, isUnderWay: false, isOver: false };
  if (before.isOver) return before;
  const isBusy = status === "Restarting" || taskState !== "";
  const isUnderWay = before.isUnderWay || isBusy;
  return { atMs, isUnderWay, isOver: !isBusy && (isUnderWay || status !== "Running" || nowMs - atMs >= rebootBeginsMs) };
}

function restarting(object: ZunObject): ZunObject {
  return { ...object, status: "Restarting", members: object.members.map((member) => ({ ...member, status: "Restarting" })) };
}

function recordsAfter(before: ZunMemory["records"] | undefined, object: ZunObject, nowMs: number): ReadonlyMap<string, RunRecord> {
  const now = new Date(nowMs).toISOString().replace(/\.\d+Z$/, "Z");
  const times = { createdAt: zunTime(object.createdAt) ?? now, now };
  const { containers, initContainers } = object.labels;
  const of = (names: readonly string[], members: readonly ObservedMember[], isInit: boolean): [string, RunRecord][] =>
    names.flatMap((name, index): [string, RunRecord][] => {
      const [member, known] = [members[index], before?.get(name)];
      if (member) return [[name, nextRecord(known, member, { ...times, isInit })]];
      return known ? [[name, known]] : [];
    });
  return new Map([...of(containers, object.members, false), ...of(initContainers, object.initMembers, true)]);
}

function progressOf({ status, taskState, members }: ZunObject): Observation["progress"] {
  switch (status) {
    case "Running":
    case "Paused":
      return taskState === "" && members.every((member) => member.status !== "Creating") ? "running" : "starting";
    case "Deleting":
      return "ending";
    default:
      return "starting";
  }
}
