import { expect, test } from "vitest";
import { gapsOf, histogramBound, latenessMs } from "../bench/src/lease-watch.ts";
import { manyNodesTable } from "../bench/src/many-nodes-report.ts";
import { pausesIn } from "../bench/src/pauses.ts";
import { establishedSockets } from "../bench/src/process-stats.ts";
import { raceSection } from "../bench/src/report.ts";

test("only established connections are counted, by the inode of their socket", () => {
  const table = [
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode",
    "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 111 1 0 100 0 0 10 0",
    "   1: 0100007F:A2C4 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 222 1 0 20 4 30 10 -1",
    "",
  ].join("\n");

  expect(establishedSockets(table)).toEqual(["222"]);
  expect(establishedSockets("")).toEqual([]);
});

test("pauses of all loops of a program are joined, bin by bin, in the window", () => {
  const main = { startMs: 1_000, binMs: 100, longestMs: [90, 1.24, 2, 60, 1] };
  const worker = { startMs: 1_200, binMs: 100, longestMs: [3, 4, 5] };

  expect(pausesIn([main, worker], { fromMs: 1_100, toMs: 1_400, binMs: 100 })).toEqual([1.2, 3, 60]);
  expect(pausesIn([main], { fromMs: 1_100, toMs: 1_500, binMs: 200 })).toEqual([2, 60]);
  expect(pausesIn([main], { fromMs: 1_100, toMs: 1_390, binMs: 100 })).toEqual([1.2, 2]);
});

test("a lease is late by as much as its gap exceeds the interval of its renewals", () => {
  expect(gapsOf([0, 10_000, 21_500, 31_000])).toEqual([10_000, 11_500, 9_500]);
  expect(latenessMs([10_000, 11_500, 9_500], 1)).toBe(1_500);
  expect(latenessMs([9_500, 9_700], 0.99)).toBe(0);
  expect(latenessMs([], 0.99)).toBe(0);
});

test("a histogram's quantile is the bound of its bucket, over all nodes", () => {
  const series = (node: string, counts: readonly number[]): string =>
    ["0.1", "1", "+Inf"].map((le, index) => `late_seconds_bucket{le="${le}",node="${node}"} ${counts[index]}`).join("\n");
  const text = `${series("a", [50, 50, 50])}\n${series("b", [40, 49, 50])}\nother_bucket{le="1",node="a"} 7`;

  expect(histogramBound(text, "late_seconds", 0.9)).toBe(0.1);
  expect(histogramBound(text, "late_seconds", 0.99)).toBe(1);
  expect(histogramBound(text, "late_seconds", 1)).toBe(Infinity);
  expect(histogramBound("", "late_seconds", 0.99)).toBeUndefined();
});

test("the table of many nodes shows both programs, their ratio and the aim", () => {
  const phase = { podsPerSecond: 300, p50Ms: 100, p99Ms: 200, cpuSeconds: 2 };
  const ours = {
    readyMs: 6_000,
    rest: { cpuShare: 0.123, residentMiB: 200, connections: 40 },
    peakMiB: 380.4,
    up: phase,
    down: phase,
    missing: 0,
    lateP99Ms: { rest: 10, load: 900 },
    lateP99BoundMs: 1000,
  };
  const { lateP99BoundMs: _, ...kwok } = { ...ours, peakMiB: 100, up: { ...phase, podsPerSecond: 200 } };
  const text = manyNodesTable({ circumstances: "today", kubernetes: "v1", nodes: 1_000, podsPerNode: 10, rounds: 1, ours, kwok });

  expect(text).toContain("today; kube-apiserver v1; 1000 nodes with 10 pods each, 1 round\n");
  expect(text).toContain("| … at the peak, MiB | 380 | 100 | 3.80 | < 400 MiB |");
  expect(text).toContain("| pods/s up | 300 | 200 | 1.50 | > 1 |");
  expect(text).toContain("| … by `vk_lease_renew_lateness_seconds`, at most, ms | 1000 | | | < 2000 ms |");
});

test("the race's section shows what an idle node takes and how soon it is Ready, with the aims", () => {
  const side = { podsPerSecond: 400, p50Ms: 100, p99Ms: 200, cpuSeconds: 1.2, peakRssMiB: 119.6 };
  const requests = { up: { "PATCH pods/status": 2_000 }, down: { "PATCH pods/status": 2_000, "DELETE pods": 4_000 } };
  const text = raceSection({
    date: "2026-11-28",
    machine: "a machine",
    kubernetes: "v1",
    pods: 2_000,
    rounds: 3,
    rows: ["ours", "bare loop", "kwok"].map((name) => ({ name, up: side, down: side, requests })),
    variants: [],
    idle: { cpuShare: 0.00071, residentMiB: 78.6 },
    readyMs: 287.4,
    heapBytesPerPod: 5_837,
    lease: { aloneMs: [20], underLoadMs: [30] },
  });

  expect(text).toContain("| from the program's start until its node is Ready | ≤ 300 ms | 287 ms |");
  expect(text).toContain("| idle node, resident memory | ≤ 80 MiB | 79 MiB |");
  expect(text).toContain("| idle node, share of a core | < 0.1 % | 0.071 % |");
  expect(text).toContain("| peak RSS while 2000 pods come | < 130 MiB | 120 MiB |");
  expect(text).toContain("| deletes a pod (ours; the load's own is the other) | 1 | 1 |");
  expect(text).toContain("| pods/s up | more | 1.00 | ≥ 0.97 | 1.00 |  |");
});
