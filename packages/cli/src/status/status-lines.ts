import type { NodeStatus, PodStatus, StatusDocument } from "../debug/status-document.ts";
import { charactersOf, cutText, plainText, wrapText } from "./plain-text.ts";

/** How the state is shown. */
export interface Look {
  /** Width in characters; `undefined` for lines of any length. */
  readonly width: number | undefined;
  /** Maximum number of lines; `undefined` for any number. Pods that do not fit are counted. */
  readonly height: number | undefined;
  readonly isColoured: boolean;
}

/** Width of the labels of a node's figures. */
const figureLabel = 8;

/** Lines that the table of pods needs to be useful: a blank line, the header, two pods with their problems, and what is hidden. */
const minTable = 8;

/** Minimum width of a column whose text is cut. */
const minColumn = 8;

/** The state of programs as lines of text: problems of the nodes first, then their pods, of which those with a problem come first. */
export function statusLines(documents: readonly StatusDocument[], look: Look): string[] {
  const { height = Infinity } = look;
  const paint = painter(look.isColoured);
  const whole = headLines(documents, { look, paint, isShort: false });
  // On a low screen the pods are worth more than the nodes' figures.
  const head = whole.length + minTable > height ? headLines(documents, { look, paint, isShort: true }) : whole;
  const all = documents.flatMap(({ nodes }) => nodes);
  const pods = all.flatMap((node) => node.pods.map((pod) => ({ pod, node: node.name })));
  const { lines, shown } = podLines(pods, { look, paint, left: Math.max(0, height - head.length - 3) });
  const hidden = all.reduce((sum, { matching }) => sum + matching, 0) - shown;
  const legend = pods.slice(0, shown).some(({ pod }) => !pod.isStatusWritten) ? ["* or >: this status is not written yet"] : [];
  const rest = hidden > 0 ? [`… and ${hidden} more pods; --problems, --namespace and --pod choose`] : [];
  const none = lines.length + hidden > 0 ? [] : [all.length === 0 ? "no such node" : "no pods"];
  const foot = [...legend, ...rest].map((line) => cut(line, look));
  return [...[...head, "", ...lines, ...none].slice(0, Math.max(0, height - foot.length)), ...foot];
}

/** The programs and their nodes; the short form has only the first figure of each node. */
function headLines(
  documents: readonly StatusDocument[],
  { look, paint, isShort }: { readonly look: Look; readonly paint: Paint; readonly isShort: boolean },
): string[] {
  return documents.flatMap(({ program, nodes }, index) => [
    ...(index === 0 ? [] : [""]),
    cut(plainText(program.shown), look),
    ...nodes.flatMap((node) => [...(isShort ? [] : [""]), ...nodeLines(node, { look, paint, isShort })]),
  ]);
}

type Paint = (style: keyof typeof styles, text: string) => string;

const styles = { strong: "1", faint: "2", good: "32", bad: "31", doubtful: "33" } as const;

function painter(isColoured: boolean): Paint {
  return (style, text) => (isColoured ? `\u001b[${styles[style]}m${text}\u001b[0m` : text);
}

function cut(text: string, { width }: Look): string {
  return width === undefined ? text : cutText(text, width);
}

function nodeLines(
  node: NodeStatus,
  { look, paint, isShort }: { readonly look: Look; readonly paint: Paint; readonly isShort: boolean },
): string[] {
  const state = plainText(node.shown.state);
  const style = node.problems.length > 0 ? "bad" : node.isReady ? "good" : "doubtful";
  const width = (look.width ?? Infinity) - 4;
  const name = cut(`node ${node.name}`, look);
  return [
    `${paint("strong", name)} ${paint(style, cutText(state, width + 3 - name.length))}`,
    ...node.problems.flatMap((problem) =>
      (look.width === undefined ? [plainText(problem)] : wrapText(plainText(problem), width)).map((line, index) =>
        paint("bad", `${index === 0 ? "  ! " : "    "}${line}`),
      ),
    ),
    ...node.shown.figures
      .slice(0, isShort ? 1 : undefined)
      .map(({ label, text }) => cut(`  ${label.padEnd(figureLabel)} ${plainText(text)}`, look)),
  ];
}

interface Row {
  readonly cells: readonly string[];
  readonly problem: string | undefined;
}

/** The table of pods, as far as it fits into `left` lines. */
function podLines(
  pods: readonly { readonly pod: PodStatus; readonly node: string }[],
  { look, paint, left }: { readonly look: Look; readonly paint: Paint; readonly left: number },
): { readonly lines: readonly string[]; readonly shown: number } {
  const isMany = new Set(pods.map(({ node }) => node)).size > 1;
  const rows = pods.map(({ pod, node }) => rowOf(pod, isMany ? node : undefined));
  const header = [...(isMany ? ["NODE"] : []), "NAMESPACE", "POD", "PHASE", "BACK END", "NEXT", "DOING"];
  const shown: Row[] = [];
  let used = 1;
  for (const row of rows) {
    used += row.problem === undefined ? 1 : 2;
    if (used > left) break;
    shown.push(row);
  }
  if (shown.length === 0) return { lines: [], shown: 0 };
  const widths = columnWidths([header, ...shown.map(({ cells }) => cells)], look.width);
  const line = (cells: readonly string[]): string =>
    cut(
      cells
        .map((cell, index) => cutText(cell, widths[index] ?? 0).padEnd(widths[index] ?? 0))
        .join("  ")
        .trimEnd(),
      look,
    );
  const lines = shown.flatMap(({ cells, problem }) =>
    problem === undefined ? [line(cells)] : [paint("doubtful", line(cells)), paint("bad", cut(`  └ ${problem}`, look))],
  );
  return { lines: [paint("faint", line(header)), ...lines], shown: shown.length };
}

function rowOf(pod: PodStatus, node: string | undefined): Row {
  const { phase, backEnd, next, doing } = pod.shown;
  const cells = [pod.namespace, pod.name, phase, backEnd, next, doing];
  return {
    cells: [...(node === undefined ? [] : [node]), ...cells].map(plainText),
    problem: pod.problem === undefined ? undefined : plainText(pod.problem),
  };
}

/** Widths of the columns. If the table is too wide, the widest columns are cut first. */
function columnWidths(rows: readonly (readonly string[])[], width: number | undefined): number[] {
  const widths = (rows[0] ?? []).map((_, index) => Math.max(...rows.map((cells) => charactersOf(cells[index] ?? "").length)));
  const available = (width ?? Infinity) - 2 * (widths.length - 1);
  while (widths.reduce((sum, each) => sum + each, 0) > available) {
    const widest = Math.max(...widths);
    if (widest <= minColumn) break;
    widths[widths.indexOf(widest)] = widest - 1;
  }
  return widths;
}
