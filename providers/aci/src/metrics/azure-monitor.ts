import type { ContainerStats, PodRef, PodStats } from "@virtual-kubelet/core";
import type { MonitorAnswer } from "../azure/container-groups.ts";
import type { GroupMember } from "../azure/group-schema.ts";
import { timeOf } from "../status/container-state.ts";

/** Time that Azure Monitor's figures are read back for, in milliseconds: they come minutes late. */
export const monitorSpanMs = 600_000;

const minuteMs = 60_000;

interface Figure {
  /** RFC 3339. */
  readonly time: string;
  readonly value: number;
}

/**
 * Translates figures of Azure Monitor: CPU in thousandths of a core, memory in bytes, means of a minute, whose end is the time of the figures.
 * `undefined` if there are none yet.
 *
 * @param nowMs - milliseconds since the epoch; the time of figures of a minute that is not over
 */
export function monitorStats(
  ref: PodRef,
  members: readonly GroupMember[],
  { answer, nowMs }: { readonly answer: MonitorAnswer; readonly nowMs: number },
): PodStats | undefined {
  const cpu = latestByContainer(answer, "CpuUsage", nowMs);
  const memory = latestByContainer(answer, "MemoryUsage", nowMs);
  const containers = members.flatMap(({ name, properties }): ContainerStats[] => {
    const [milli, bytes] = [cpu.get(name), memory.get(name)];
    const started = properties.instanceView?.currentState?.startTime;
    if (!started || (!milli && !bytes)) return [];
    return [
      {
        name,
        startTime: timeOf(started),
        ...(milli && { cpu: { time: milli.time, usageNanoCores: Math.round(milli.value * 1e6) } }),
        ...(bytes && { memory: { time: bytes.time, workingSetBytes: Math.round(bytes.value) } }),
      },
    ];
  });
  const [first] = containers;
  return first && { podRef: ref, startTime: first.startTime, containers };
}

function latestByContainer({ value }: MonitorAnswer, metric: string, nowMs: number): ReadonlyMap<string, Figure> {
  const found = value.find(({ name }) => name.value.toLowerCase() === metric.toLowerCase());
  return new Map(
    (found?.timeseries ?? []).flatMap(({ metadatavalues, data }): [string, Figure][] => {
      const container = metadatavalues?.[0]?.value;
      const last = (data ?? []).findLast(({ average }) => average != null);
      if (!container || last?.average == null) return [];
      const endMs = Math.min(Date.parse(last.timeStamp) + minuteMs, nowMs);
      return [[container, { time: new Date(endMs).toISOString(), value: last.average }]];
    }),
  );
}
