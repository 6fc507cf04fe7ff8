import { gapText, wasOutputLost, withoutCutEnd, type OutputCursor, type SnapshotContext } from "./output-cursor.ts";
import { overlapLength } from "./text-overlap.ts";

/** Position in output without times: each snapshot is laid over the end of the previous one. */
export class TextCursor implements OutputCursor {
  #seen: string;

  /** @param seen - first snapshot, at whose end the cursor stands */
  constructor(seen: string) {
    this.#seen = withoutCutEnd(seen);
  }

  advance(snapshot: string, context: SnapshotContext): string | undefined {
    const text = context.isLast ? snapshot : withoutCutEnd(snapshot);
    if (text === "") return "";
    if (this.#seen === "" && context.isLimited) return undefined;
    const joined = this.#join(text) ?? this.#join(text.replace(/^\uFFFD{1,3}/, "")) ?? this.#after(text);
    if (joined !== undefined) {
      this.#seen = text;
      return joined;
    }
    // A read that shows an earlier state, as those of replicated stores can.
    if (context.hasRestarted === false && this.#seen.includes(text)) return "";
    if (context.isLimited) return undefined;
    const isLost = wasOutputLost(text, this.#seen.length, context);
    const lineEnd = this.#seen.endsWith("\n") ? "" : "\n";
    this.#seen = text;
    return `${lineEnd}${isLost ? gapText : ""}${text}`;
  }

  #join(text: string): string | undefined {
    const overlap = overlapLength(this.#seen, text);
    return overlap === undefined ? undefined : text.slice(overlap);
  }

  /** The output after the previous snapshot, if that had the last lines only and this one has more. */
  #after(text: string): string | undefined {
    const index = this.#seen.includes("\n") ? text.lastIndexOf(this.#seen) : -1;
    return index < 0 ? undefined : text.slice(index + this.#seen.length);
  }
}
