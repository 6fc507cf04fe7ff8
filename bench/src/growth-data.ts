import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Path of the measurements that the pictures and the table of the guide are made from. */
export const growthFile: string = join(import.meta.dirname, "../data/growth.json");

/** One program with one number of pods. */
export interface GrowthRun {
  readonly contender: "ours" | "bare loop";
  readonly pods: number;
  readonly podsPerSecond: number;
  /** Pods that did not run in time. */
  readonly missing: number;
  /** User and system time while the pods came. */
  readonly cpuSeconds: number;
  /** Resident memory before the first pod, at the peak, and some seconds after the last pod, in MiB. */
  readonly idleMiB: number;
  readonly peakMiB: number;
  readonly restMiB: number;
}

/** Pauses of two event loops from the request for the first list of pods until all pods run, in milliseconds. */
export interface FirstList {
  readonly pods: number;
  readonly seconds: number;
  /** Width of a bin; each has its longest pause. */
  readonly binMs: number;
  /** Our node, all its event loops. */
  readonly ours: readonly number[];
  /** A program that does nothing, on the same machine at the same time. */
  readonly idle: readonly number[];
}

/** Contents of `growth.json`. */
export interface GrowthData {
  /** Date, machine and load; see `circumstances`. */
  readonly circumstances: string;
  readonly kubernetes: string;
  readonly runs: readonly GrowthRun[];
  readonly firstList: FirstList;
}

/** Reads the measurements in the repository. */
export function readGrowth(): GrowthData {
  return JSON.parse(readFileSync(growthFile, "utf8")) as GrowthData;
}

/** Resident memory at the peak, less that of the idle program, in KiB a pod. */
export function kibibytesPerPod({ pods, idleMiB, peakMiB }: GrowthRun): number {
  return ((peakMiB - idleMiB) * 1024) / pods;
}

/** Processor time in milliseconds a pod. */
export function cpuMsPerPod({ pods, cpuSeconds }: GrowthRun): number {
  return (cpuSeconds * 1000) / pods;
}

/** Table of the guide. */
export function growthTable({ circumstances, kubernetes, runs, firstList }: GrowthData): string {
  const sizes = [...new Set(runs.map(({ pods }) => pods))].toSorted((a, b) => a - b);
  const cells = (pods: number, of: (run: GrowthRun) => string): string =>
    (["ours", "bare loop"] as const)
      .map((name) => runs.find((run) => run.pods === pods && run.contender === name))
      .map((run) => (run ? of(run) : ""))
      .join(" | ");
  const longest = (pauses: readonly number[]): string => `${Math.max(0, ...pauses).toFixed(0)} ms`;
  return [
    `${circumstances}; kube-apiserver ${kubernetes}`,
    "",
    "| pods | peak RSS MiB, ours | bare loop | RSS KiB a pod, ours | bare loop | CPU ms a pod, ours | bare loop | pods/s, ours | bare loop |",
    "|---|---|---|---|---|---|---|---|---|",
    ...sizes.map((pods) => {
      const figures = [
        cells(pods, ({ peakMiB }) => peakMiB.toFixed(0)),
        cells(pods, (run) => kibibytesPerPod(run).toFixed(1)),
        cells(pods, (run) => cpuMsPerPod(run).toFixed(2)),
        cells(pods, ({ podsPerSecond }) => podsPerSecond.toFixed(0)),
      ];
      return `| ${pods} | ${figures.join(" | ")} |`;
    }),
    "",
    `| longest pause from the first list of ${firstList.pods} pods until all run | aim | measured |`,
    "|---|---|---|",
    `| our node | ≤ 50 ms | ${longest(firstList.ours)} |`,
    `| a program that does nothing, at the same time | | ${longest(firstList.idle)} |`,
  ].join("\n");
}
