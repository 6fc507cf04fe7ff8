/**
 * Unified diff of two texts, without file names.
 *
 * @param contextLines - lines shown around each difference; default: 3
 */
export function unifiedDiff(before: string, after: string, contextLines: number = 3): string {
  const changes = compareLines(before.split("\n"), after.split("\n"));
  return hunks(changes, contextLines).map(formatHunk).join("");
}

interface Line {
  readonly sign: " " | "-" | "+";
  readonly text: string;
  /** Index of the next line in either text. */
  readonly beforeLine: number;
  readonly afterLine: number;
}

/** Longest common subsequence by the table method, which is fast enough for a few hundred lines. */
function compareLines(before: readonly string[], after: readonly string[]): Line[] {
  const lengths = Array.from({ length: before.length + 1 }, () => new Uint16Array(after.length + 1));
  const lengthAt = (i: number, j: number): number => lengths[i]?.[j] ?? 0;
  for (let i = before.length - 1; i >= 0; i--) {
    const row = lengths[i];
    if (row === undefined) continue;
    for (let j = after.length - 1; j >= 0; j--)
      row[j] = before[i] === after[j] ? lengthAt(i + 1, j + 1) + 1 : Math.max(lengthAt(i + 1, j), lengthAt(i, j + 1));
  }
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    const place = { beforeLine: i, afterLine: j };
    if (i < before.length && j < after.length && before[i] === after[j]) {
      lines.push({ sign: " ", text: before[i++] ?? "", ...place });
      j++;
    } else if (i < before.length && (j === after.length || lengthAt(i + 1, j) >= lengthAt(i, j + 1))) {
      lines.push({ sign: "-", text: before[i++] ?? "", ...place });
    } else {
      lines.push({ sign: "+", text: after[j++] ?? "", ...place });
    }
  }
  return lines;
}

function hunks(lines: readonly Line[], contextLines: number): Line[][] {
  const found: Line[][] = [];
  let end = -1;
  for (const [index, line] of lines.entries()) {
    if (line.sign === " ") continue;
    const start = Math.max(index - contextLines, 0);
    const last = found.at(-1);
    const until = Math.min(index + contextLines + 1, lines.length);
    if (last !== undefined && start <= end) last.push(...lines.slice(end, until));
    else found.push(lines.slice(start, until));
    end = until;
  }
  return found;
}

function formatHunk(lines: readonly Line[]): string {
  const [first] = lines;
  const range = (start: number, count: number): string => (count === 1 ? `${start + 1}` : `${count === 0 ? start : start + 1},${count}`);
  const beforeCount = lines.filter(({ sign }) => sign !== "+").length;
  const afterCount = lines.filter(({ sign }) => sign !== "-").length;
  const header = `@@ -${range(first?.beforeLine ?? 0, beforeCount)} +${range(first?.afterLine ?? 0, afterCount)} @@\n`;
  return header + lines.map(({ sign, text }) => `${sign}${text}\n`).join("");
}

/** Diff of two values, formatted like the real server's diffs of structs. */
export function jsonDifference(before: object, after: object): string {
  return unifiedDiff(JSON.stringify(before, undefined, 1), JSON.stringify(after, undefined, 1));
}
