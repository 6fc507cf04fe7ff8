import type { ApiServerReport, ClustersReport, DockerReport, StreamReport } from "./figures.ts";
import { writeApiServers, writeClusters, writeDocker, writeMeasured, writeStreams } from "./guide.ts";
import { ratioTable, shownSide, type ShownRow, type ShownSide } from "./ratios.ts";

/** Medians of one contender. */
export interface Row extends ShownRow {
  /** API requests of the first round. */
  readonly requests: { readonly up: Readonly<Record<string, number>>; readonly down: Readonly<Record<string, number>> };
}

/** Durations of lease renewals in milliseconds: without load, and while 300 watches were open and 1,000 patches were queued. */
export interface LeaseTimes {
  readonly aloneMs: readonly number[];
  readonly underLoadMs: readonly number[];
}

/** Our node without pods. */
export interface IdleFigures {
  /** Share of one CPU. */
  readonly cpuShare: number;
  readonly residentMiB: number;
}

/** Results of the race. */
export interface RaceReport {
  readonly date: string;
  readonly machine: string;
  readonly kubernetes: string;
  readonly pods: number;
  readonly rounds: number;
  readonly rows: readonly Row[];
  /** Our node with each version of HTTP. */
  readonly variants: readonly Row[];
  readonly idle: IdleFigures;
  /** From the start of the built program until a watch shows its node as Ready, in milliseconds; median. */
  readonly readyMs: number;
  readonly heapBytesPerPod: number;
  readonly lease: LeaseTimes;
}

/** Results of the other benchmarks. */
export interface OtherReports {
  readonly apiServers: ApiServerReport;
  readonly streams: StreamReport;
  /** `undefined` without an engine. */
  readonly docker: DockerReport | undefined;
  readonly clusters: ClustersReport;
}

/** Writes the results between the markers in the guide. What was not measured stays as it is. */
export function writeGuide(file: string, race: RaceReport, others: OtherReports | undefined): void {
  writeMeasured(file, "measured", raceSection(race));
  if (!others) return;
  writeApiServers(file, others.apiServers);
  writeStreams(file, others.streams);
  if (others.docker) writeDocker(file, others.docker);
  writeClusters(file, others.clusters);
}

/** Text of the section about the race. */
export function raceSection(report: RaceReport): string {
  const [ours] = report.rows;
  const lines = [
    `${report.date}, ${report.machine}, kube-apiserver ${report.kubernetes}; ${report.pods} pods, ${report.rounds} rounds, medians.`,
    "",
    ...table(report.rows),
    "",
  ];
  if (ours) {
    lines.push(
      ...ratioTable(report.rows.map(({ name, up, down }) => ({ name, up: shownSide(up), down: shownSide(down) }))),
      "",
      "| our node | aim | measured |",
      "|---|---|---|",
      `| from the program's start until its node is Ready | ≤ 300 ms | ${report.readyMs.toFixed(0)} ms |`,
      `| idle node, resident memory | ≤ 80 MiB | ${report.idle.residentMiB.toFixed(0)} MiB |`,
      `| idle node, share of a core | < 0.1 % | ${(report.idle.cpuShare * 100).toFixed(3)} % |`,
      `| peak RSS while ${report.pods} pods come | < 130 MiB | ${ours.up.peakRssMiB.toFixed(0)} MiB |`,
      `| heap a further pod | ≤ 10 KiB | ${(report.heapBytesPerPod / 1024).toFixed(1)} KiB |`,
      `| status patches a pod | 2 | ${perPod(ours, "PATCH pods/status", report.pods)} |`,
      `| deletes a pod (ours; the load's own is the other) | 1 | ${perPod(ours, "DELETE pods", report.pods) - 1} |`,
      "",
    );
  }
  const { aloneMs, underLoadMs } = report.lease;
  lines.push(
    "Our node with short requests and watches over either version of HTTP:",
    "",
    ...table(report.variants),
    "",
    `A lease's renewal while 300 watches are open and 1,000 patches are queued took at most ${Math.max(...underLoadMs)} ms ` +
      `(${Math.max(...aloneMs)} ms with nothing else going on); it is due every 10,000 ms.`,
  );
  return lines.join("\n");
}

function table(rows: readonly Row[]): string[] {
  return [
    "| | up pods/s | create→Running p50 / p99 | CPU s | peak RSS MiB | down pods/s | delete→gone p50 / p99 | CPU s | peak RSS MiB |",
    "|---|---|---|---|---|---|---|---|---|",
    ...rows.map(({ name, up, down }) => `| ${name} | ${cells(up)} | ${cells(down)} |`),
  ];
}

function cells(side: ShownSide): string {
  const { podsPerSecond, p50Ms, p99Ms, cpuSeconds, peakRssMiB } = shownSide(side);
  return `${podsPerSecond} | ${p50Ms} ms / ${p99Ms} ms | ${cpuSeconds.toFixed(2)} | ${peakRssMiB}`;
}

function perPod(row: Row, request: string, pods: number): number {
  const count = (row.requests.up[request] ?? 0) + (row.requests.down[request] ?? 0);
  return Math.round((count / pods) * 1000) / 1000;
}
