import { earlier, lineTime } from "./line-time.ts";
import { gapText, wasOutputLost, withoutCutEnd, type OutputCursor, type SnapshotContext } from "./output-cursor.ts";

/** Time for which a line may arrive after lines that were written later, such as those of the other stream. */
const latenessMs = 10_000;

/** A line with its time, or with that of the line before if it has none of its own. */
interface TimedLine {
  /** Of {@link lineTime}; empty before the first line with a time. */
  readonly time: string;
  /** With its newline, if it is complete. */
  readonly text: string;
}

/**
 * Position in output whose lines begin with their times: lines are told apart by time and text, and equal ones are counted. Lines after the last
 * one that the previous snapshot also had are new whatever their times are, because clocks are set back, and differ between machines.
 */
export class TimedCursor implements OutputCursor {
  /** Time of the latest line. */
  #lastTime = "";
  /** Lines before this time are not looked at, unless they are after the previous snapshot. */
  #floor = "";
  /** How often each line since the floor was returned, by {@link keyOf}. */
  #returned = new Map<string, number>();
  /** Lines of the last snapshot that had new ones, by {@link keyOf}. */
  #previous: ReadonlySet<string> = new Set();
  /** A returned line without its end. */
  #open: TimedLine | undefined;
  #seenLength: number;

  /** @param seen - first snapshot, at whose end the cursor stands */
  constructor(seen: string) {
    const lines = linesOf(withoutCutEnd(seen));
    this.#seenLength = seen.length;
    this.#moveTo(lines, countsOf(lines));
    this.#previous = new Set(lines.map(keyOf));
    const [first] = lines;
    if (first && first.time > this.#floor) this.#floor = first.time;
    const last = lines.at(-1);
    if (last && !last.text.endsWith("\n")) this.#open = last;
  }

  advance(snapshot: string, context: SnapshotContext): string | undefined {
    const text = context.isLast ? snapshot : withoutCutEnd(snapshot);
    const lines = linesOf(text);
    const first = lines.find(({ time }) => time !== "");
    if (first === undefined) return "";
    const end = this.#endOfPrevious(lines);
    // All lines are older than those that were returned: the clock was set back meanwhile, or another machine's is behind.
    const isBehind = end < 0 && (lines.at(-1)?.time ?? "") < this.#floor;
    const reachesBack = end >= 0 || (this.#lastTime === "" ? !context.isLimited : first.time <= this.#lastTime && !isBehind);
    if (!reachesBack && context.isLimited) return undefined;
    const isLost = !reachesBack && wasOutputLost(text, this.#seenLength, context);
    this.#seenLength = text.length;
    const gap = isLost ? `${this.#lineEnd()}${first.time} ${gapText}` : "";
    const newFrom = end >= 0 || isBehind || context.hasRestarted === true ? end + 1 : lines.length;
    return `${gap}${this.#output(lines, newFrom)}`;
  }

  /** Index of the last line that the previous snapshot also had; -1 if there is none. */
  #endOfPrevious(lines: readonly TimedLine[]): number {
    const open = this.#open?.text;
    return lines.findLastIndex((line) => this.#previous.has(keyOf(line)) || (open !== undefined && line.text.startsWith(open)));
  }

  /**
   * Returns the lines that were not returned yet.
   *
   * @param newFrom - index of the first line that is after the previous snapshot
   */
  #output(lines: readonly TimedLine[], newFrom: number): string {
    const counts = new Map<string, number>();
    let output = "";
    for (const [index, line] of lines.entries()) {
      if (line.time === "" || (line.time < this.#floor && index < newFrom)) continue;
      const key = keyOf(line);
      const count = (counts.get(key) ?? 0) + 1;
      counts.set(key, count);
      const isNew = count > (this.#returned.get(key) ?? 0);
      const open = this.#open;
      if (open !== undefined && line.text.startsWith(open.text) && (isNew || key === keyOf(open)))
        output += line.text.slice(open.text.length);
      else if (isNew) output += `${this.#lineEnd()}${line.text}`;
      else continue;
      this.#open = line.text.endsWith("\n") ? undefined : line;
    }
    this.#moveTo(lines, counts);
    // A read that shows an earlier state does not move the position back.
    if (output !== "") this.#previous = new Set(lines.map(keyOf));
    return output;
  }

  /** End of the line that is open, if another one is to follow. */
  #lineEnd(): string {
    const end = this.#open === undefined ? "" : "\n";
    this.#open = undefined;
    return end;
  }

  #moveTo(lines: readonly TimedLine[], counts: ReadonlyMap<string, number>): void {
    for (const { time } of lines) if (time > this.#lastTime) this.#lastTime = time;
    const floor = this.#lastTime === "" ? "" : earlier(this.#lastTime, latenessMs);
    if (floor > this.#floor) this.#floor = floor;
    const merged = new Map([...this.#returned].map(([key, count]) => [key, Math.max(count, counts.get(key) ?? 0)]));
    for (const [key, count] of counts) if (!merged.has(key)) merged.set(key, count);
    this.#returned = new Map([...merged].filter(([key]) => key >= this.#floor));
  }
}

/** Begins with the time, so that keys sort like times. */
function keyOf({ time, text }: TimedLine): string {
  return `${time} ${text.endsWith("\n") ? text.slice(0, -1) : text}`;
}

function linesOf(snapshot: string): TimedLine[] {
  let time = "";
  return snapshot
    .split(/(?<=\n)/)
    .filter((text) => text !== "")
    .map((text) => {
      time = lineTime(text) ?? time;
      return { time, text };
    });
}

function countsOf(lines: readonly TimedLine[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const line of lines) counts.set(keyOf(line), (counts.get(keyOf(line)) ?? 0) + 1);
  return counts;
}
