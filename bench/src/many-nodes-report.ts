import type { ManyNodesFigures, ManyNodesReport } from "./figures.ts";
import { writeMeasured } from "./guide.ts";

/** Writes the section about many nodes in a process. */
export function writeManyNodes(file: string, report: ManyNodesReport): void {
  writeMeasured(file, "measured: many nodes", manyNodesTable(report));
}

/** The section's text. */
export function manyNodesTable({ circumstances, kubernetes, nodes, podsPerNode, rounds, ours, kwok }: ManyNodesReport): string {
  const row = (name: string, pick: (figures: ManyNodesFigures) => number, digits: number, aim = ""): string =>
    `| ${name} | ${pick(ours).toFixed(digits)} | ${pick(kwok).toFixed(digits)} | ${(pick(ours) / pick(kwok)).toFixed(2)} | ${aim} |`;
  const bound = ours.lateP99BoundMs;
  return [
    `${circumstances}; kube-apiserver ${kubernetes}; ${nodes} nodes with ${podsPerNode} pods each, ${rounds} ${rounds === 1 ? "round" : "rounds, medians"}`,
    "",
    "| | ours, one process | kwok | ratio | aim |",
    "|---|---|---|---|---|",
    row("all nodes Ready, s", ({ readyMs }) => readyMs / 1000, 1),
    row("resident memory at rest, MiB", ({ rest }) => rest.residentMiB, 0, "< 400 MiB"),
    row("… at the peak, MiB", ({ peakMiB }) => peakMiB, 0, "< 400 MiB"),
    row("at rest, of a core, %", ({ rest }) => rest.cpuShare * 100, 1),
    row("connections at rest", ({ rest }) => rest.connections, 0),
    row("pods/s up", ({ up }) => up.podsPerSecond, 0, "> 1"),
    row("… create→Running p50, ms", ({ up }) => up.p50Ms, 0, "< 1"),
    row("… create→Running p99, ms", ({ up }) => up.p99Ms, 0),
    row("… CPU s", ({ up }) => up.cpuSeconds, 1),
    row("pods/s down", ({ down }) => down.podsPerSecond, 0, "> 1"),
    row("… delete→gone p50, ms", ({ down }) => down.p50Ms, 0),
    row("… delete→gone p99, ms", ({ down }) => down.p99Ms, 0),
    row("… CPU s", ({ down }) => down.cpuSeconds, 1),
    `| pods that did not run or go | ${ours.missing} | ${kwok.missing} | | 0 |`,
    `| lateness of a lease, p99, at rest, ms | ${ours.lateP99Ms.rest.toFixed(0)} | ${kwok.lateP99Ms.rest.toFixed(0)} | | < 2000 ms |`,
    `| … while pods come and go, ms | ${ours.lateP99Ms.load.toFixed(0)} | ${kwok.lateP99Ms.load.toFixed(0)} | | < 2000 ms |`,
    `| … by \`vk_lease_renew_lateness_seconds\`, at most, ms | ${bound === undefined ? "" : bound.toFixed(0)} | | | < 2000 ms |`,
    "",
  ].join("\n");
}
