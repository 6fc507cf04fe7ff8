import { expect, test } from "vitest";
import type { MonitorAnswer } from "../azure/container-groups.ts";
import type { GroupMember } from "../azure/group-schema.ts";
import { monitorStats } from "./azure-monitor.ts";

const ref = { namespace: "shop", name: "web", uid: "1" };
const startTime = "2026-11-21T10:00:00Z";
const member = (name: string, started = true): GroupMember => ({
  name,
  properties: { instanceView: { currentState: started ? { state: "Running", startTime } : { state: "Waiting" } } },
});

type Data = readonly { readonly timeStamp: string; readonly average?: number | null }[];

/** Answer as in Microsoft's documentation of `metrics/list`. */
function answerWith(series: Readonly<Record<string, { readonly cpu: Data; readonly memory: Data }>>): MonitorAnswer {
  const metric = (value: string, of: (each: { readonly cpu: Data; readonly memory: Data }) => Data): MonitorAnswer["value"][number] => ({
    name: { value },
    timeseries: Object.entries(series).map(([container, each]) => ({ metadatavalues: [{ value: container }], data: of(each) })),
  });
  return { value: [metric("CpuUsage", ({ cpu }) => cpu), metric("MemoryUsage", ({ memory }) => memory)] };
}

test("each container has the last figures that are there, in nanocores and bytes, at the end of their minute", () => {
  const data = (first: number, last: number): Data => [
    { timeStamp: "2026-11-21T10:01:00Z", average: first },
    { timeStamp: "2026-11-21T10:02:00Z", average: last },
    { timeStamp: "2026-11-21T10:03:00Z" },
  ];
  const answer = answerWith({
    a: { cpu: data(1, 250), memory: data(1, 5_000.4) },
    b: { cpu: data(1, 0), memory: data(1, 7) },
  });
  const time = "2026-11-21T10:03:00.000Z";

  expect(monitorStats(ref, [member("a"), member("b")], { answer, nowMs: Date.parse("2026-11-21T10:05:00Z") })).toEqual({
    podRef: ref,
    startTime,
    containers: [
      { name: "a", startTime, cpu: { time, usageNanoCores: 250_000_000 }, memory: { time, workingSetBytes: 5_000 } },
      { name: "b", startTime, cpu: { time, usageNanoCores: 0 }, memory: { time, workingSetBytes: 7 } },
    ],
  });
});

test("figures of a minute that is not over have the time of their reading", () => {
  const data = [{ timeStamp: "2026-11-21T10:01:00Z", average: 1 }];
  const stats = monitorStats(ref, [member("a")], {
    answer: answerWith({ a: { cpu: data, memory: data } }),
    nowMs: Date.parse("2026-11-21T10:01:20Z"),
  });

  expect(stats?.containers[0]?.cpu?.time).toBe("2026-11-21T10:01:20.000Z");
});

test("a pod without figures, and containers that do not run, are left out", () => {
  const none = [{ timeStamp: "2026-11-21T10:01:00Z", average: null }];
  const some = [{ timeStamp: "2026-11-21T10:01:00Z", average: 1 }];
  const nowMs = Date.parse("2026-11-21T10:05:00Z");

  expect(monitorStats(ref, [member("a")], { answer: answerWith({ a: { cpu: none, memory: none } }), nowMs })).toBeUndefined();
  expect(monitorStats(ref, [member("a")], { answer: { value: [] }, nowMs })).toBeUndefined();
  const both = answerWith({ a: { cpu: some, memory: some }, b: { cpu: some, memory: some } });
  expect(monitorStats(ref, [member("a"), member("b", false)], { answer: both, nowMs })?.containers.map(({ name }) => name)).toEqual(["a"]);
});
