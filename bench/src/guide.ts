import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ApiServerReport, ClustersReport, DockerReport, NomadReport, StreamReport } from "./figures.ts";

/** Path of the guide that shows the results. */
export const guide: string = join(import.meta.dirname, "../../docs/guides/performance.md");

/** Writes text between the markers of that name in the guide. */
export function writeMeasured(
  file: string,
  name:
    | "measured"
    | "measured: embedded"
    | "measured: many nodes"
    | "measured: streams"
    | "measured: docker"
    | "measured: nomad"
    | "measured: clusters",
  markdown: string,
): void {
  const [begin, end] = [`<!-- begin ${name} -->`, `<!-- end ${name} -->`];
  const text = readFileSync(file, "utf8");
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${file}: expected the markers ${begin} and ${end}, in this order`);
  writeFileSync(file, `${text.slice(0, from + begin.length)}\n\n${markdown}\n${text.slice(to)}`);
}

/** The ratio `a / b` with two digits. */
function ratio(a: number, b: number): string {
  return (a / b).toFixed(2);
}

/** Writes the section about the embedded API server. */
export function writeApiServers(
  file: string,
  { circumstances, kubernetes, held, rounds, embedded, real, hostMiB, startMs }: ApiServerReport,
): void {
  const memory = (MiB: number): string => `${MiB.toFixed(0)} | ${real.peakMiB.toFixed(0)} | ${ratio(MiB, real.peakMiB)}`;
  const lines = [
    `${circumstances}; kube-apiserver ${kubernetes}, ${rounds} rounds, medians`,
    "",
    "| | embedded | kube-apiserver and etcd | ratio | aim |",
    "|---|---|---|---|---|",
    `| pods/s, of 32 callers, while somebody watches | ${embedded.podsPerSecond.toFixed(0)} | ${real.podsPerSecond.toFixed(0)} | ${ratio(embedded.podsPerSecond, real.podsPerSecond)} | ≥ 1 |`,
    `| peak RSS holding ${held} pods, MiB | ${memory(embedded.peakMiB)} | ≤ 0.33 |`,
    `| … of a process with Node's own settings that calls \`startApiServer()\` | ${memory(hostMiB)} | |`,
    "",
    "| `startApiServer()` to the first 200 | measured | aim |",
    "|---|---|---|",
    `| in a warm process | ${startMs.warm.toFixed(0)} ms | ≤ 100 ms |`,
    `| a process's first | ${startMs.first.toFixed(0)} ms | |`,
    "",
  ];
  writeMeasured(file, "measured: embedded", lines.join("\n"));
}

/** Writes the section about commands and logs. */
export function writeStreams(file: string, { circumstances, node, direct, stalledMiB, follows, closed }: StreamReport): void {
  const row = (name: string, pick: (figures: typeof node) => number, aim: string): string =>
    `| ${name} | ${pick(node).toPrecision(3)} | ${pick(direct).toPrecision(3)} | ${ratio(pick(node), pick(direct))} | ${aim} |`;
  const lines = [
    circumstances,
    "",
    "| | through the node | direct | ratio | aim |",
    "|---|---|---|---|---|",
    row("echo of a command, SPDY, ms", ({ echoMs }) => echoMs.spdy, "≤ 1.3"),
    row("… WebSocket, ms", ({ echoMs }) => echoMs.websocket, "≤ 1.3"),
    row("output of a command, SPDY, MB/s", ({ stdoutMBs }) => stdoutMBs.spdy, "≥ 0.7"),
    row("… WebSocket, MB/s", ({ stdoutMBs }) => stdoutMBs.websocket, "≥ 0.7"),
    row("log, MB/s", ({ logMBs }) => logMBs, "≥ 0.7"),
    "",
    "| the node's server | measured | aim |",
    "|---|---|---|",
    `| memory of a command whose client stalls, SPDY | ${stalledMiB.spdy.toFixed(2)} MiB | ≤ 1 MiB |`,
    `| … WebSocket | ${stalledMiB.websocket.toFixed(2)} MiB | ≤ 1 MiB |`,
    `| memory of a log whose client stalls | ${stalledMiB.log.toFixed(2)} MiB | ≤ 1 MiB |`,
    `| ${follows.clients} clients that follow a log, of which hear nothing | ${follows.silent} | 0 |`,
    `| … a line's way to them, p99 | ${follows.p99Ms.toFixed(0)} ms | |`,
    `| ${closed.streams} commands run to their end: connections left | ${closed.openFiles} | 0 |`,
    `| … heap left | ${closed.heapKiB} KiB | |`,
    "",
  ];
  writeMeasured(file, "measured: streams", lines.join("\n"));
}

/** Writes the section about pods on a Docker engine. */
export function writeDocker(file: string, { circumstances, pods, node, plain, calls, kept }: DockerReport): void {
  const lines = [
    circumstances,
    "",
    "| | pods | their containers by the engine's API | ratio | aim |",
    "|---|---|---|---|---|",
    `| one, until it runs, ms | ${node.oneMs.toFixed(0)} | ${plain.oneMs.toFixed(0)} | ${ratio(node.oneMs, plain.oneMs)} | ≤ 1.3 |`,
    `| ${pods} at once, pods/s | ${node.podsPerSecond.toFixed(2)} | ${plain.podsPerSecond.toFixed(2)} | ${ratio(node.podsPerSecond, plain.podsPerSecond)} | ≥ 0.9 |`,
    `| engine calls a pod, until it runs | ${calls.node.start.toFixed(1)} | ${calls.plain.start.toFixed(1)} | ${ratio(calls.node.start, calls.plain.start)} | |`,
    `| … and until it is removed | ${calls.node.whole.toFixed(1)} | ${calls.plain.whole.toFixed(1)} | ${ratio(calls.node.whole, calls.plain.whole)} | |`,
    "",
    `| the node while ${kept.pods} pods run | measured | aim |`,
    "|---|---|---|",
    `| of a core | ${(kept.cpuShare * 100).toFixed(1)} % | < 2 % |`,
    `| peak RSS, to a node with the mock provider under the same load | ${ratio(kept.peakMiB, kept.mockPeakMiB)} (${kept.peakMiB.toFixed(0)} MiB) | ≤ 1.5 |`,
    "",
  ];
  writeMeasured(file, "measured: docker", lines.join("\n"));
}

/** Writes the section about pods in Nomad. */
export function writeNomad(file: string, { circumstances, version, rounds, nodeMs, plainMs }: NomadReport): void {
  const lines = [
    `${circumstances}; Nomad ${version}, driver raw_exec, ${rounds} rounds, medians`,
    "",
    "| | pod | its job by Nomad's API | ratio | aim |",
    "|---|---|---|---|---|",
    `| one, until it runs, ms | ${nodeMs.toFixed(0)} | ${plainMs.toFixed(0)} | ${ratio(nodeMs, plainMs)} | ≤ 1.3 |`,
    "",
  ];
  writeMeasured(file, "measured: nomad", lines.join("\n"));
}

/** Writes the section about pods in another cluster. */
export function writeClusters(file: string, report: ClustersReport): void {
  const { circumstances, kubernetes, rounds, pods, through, direct, unlimited, many } = report;
  const row = (name: string, pick: (figures: typeof through) => number, aim: string, of = { through, direct }): string =>
    `| ${name} | ${pick(of.through).toFixed(0)} | ${pick(of.direct).toFixed(0)} | ${ratio(pick(of.through), pick(of.direct))} | ${aim} |`;
  const lines = [
    `${circumstances}; two kube-apiservers ${kubernetes}, ${pods} pods, ${rounds} rounds, medians`,
    "",
    "| | pods of the virtual node | the same pods created in the far cluster | ratio | aim |",
    "|---|---|---|---|---|",
    row("pods/s until they run", ({ upPodsPerSecond }) => upPodsPerSecond, "≥ 0.8"),
    row("… create→Running p50, ms", ({ upP50Ms }) => upP50Ms, ""),
    row("… create→Running p99, ms", ({ upP99Ms }) => upP99Ms, ""),
    row("pods/s until they are gone", ({ downPodsPerSecond }) => downPodsPerSecond, ""),
    row("pods/s until they run, scheduler without a limit", ({ upPodsPerSecond }) => upPodsPerSecond, "", unlimited),
    row("… until they are gone", ({ downPodsPerSecond }) => downPodsPerSecond, "", unlimited),
    "",
    `| the program while ${many.pods} pods of ${(many.podBytes / 1024).toFixed(1)} KiB come to one virtual node | measured | aim |`,
    "|---|---|---|",
    `| pods/s | ${many.podsPerSecond.toFixed(0)} | |`,
    `| pods that do not run | ${many.missing} | 0 |`,
    `| peak RSS | ${many.peakMiB.toFixed(0)} MiB | < 300 MiB |`,
    `| of a core | ${many.cpuShare.toFixed(2)} | < 0.5 |`,
    "",
  ];
  writeMeasured(file, "measured: clusters", lines.join("\n"));
}
