import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { StreamReport } from "./streams.ts";

/** The guide that figures go into. */
export const guide: string = join(import.meta.dirname, "../../docs/guides/performance.md");

/** Writes text between the guide's marks of that name. */
export function writeMeasured(file: string, name: "measured" | "measured: streams", markdown: string): void {
  const [begin, end] = [`<!-- begin ${name} -->`, `<!-- end ${name} -->`];
  const text = readFileSync(file, "utf8");
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${file}: expected the marks ${begin} and ${end}, in this order`);
  writeFileSync(file, `${text.slice(0, from + begin.length)}\n\n${markdown}\n${text.slice(to)}`);
}

/** A ratio with two digits. */
export function ratio(a: number, b: number): string {
  return (a / b).toFixed(2);
}

/** Writes the part about commands and logs. */
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
