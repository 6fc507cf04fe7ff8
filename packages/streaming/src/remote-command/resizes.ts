import { isRecord } from "../is-record.ts";
import type { TerminalSize } from "./terminal-size.ts";

/** A size takes some thirty bytes; what is longer is none. */
const maxTextLength = 4096;

/**
 * Cuts the bytes of a resize stream into sizes: JSON objects one behind the other, `{"Width":80,"Height":24}`, wherever
 * the chunks end. What is no size is skipped.
 */
export class ResizeParser {
  #text = "";

  /** The sizes that became whole with the chunk. */
  push(chunk: Buffer): TerminalSize[] {
    this.#text += chunk.toString("latin1");
    const sizes: TerminalSize[] = [];
    for (let end = this.#text.indexOf("}"); end >= 0; end = this.#text.indexOf("}")) {
      const size = tryParseSize(this.#text.slice(this.#text.lastIndexOf("{", end), end + 1));
      if (size !== undefined) sizes.push(size);
      this.#text = this.#text.slice(end + 1);
    }
    if (this.#text.length > maxTextLength) this.#text = "";
    return sizes;
  }
}

/** A size as resize streams carry it. */
export function encodeSize({ width, height }: TerminalSize): Buffer {
  return Buffer.from(`${JSON.stringify({ Width: width, Height: height })}\n`);
}

function tryParseSize(text: string): TerminalSize | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (!isRecord(value)) return undefined;
    const { Width: width, Height: height } = value;
    return isCells(width) && isCells(height) ? { width, height } : undefined;
  } catch {
    return undefined;
  }
}

function isCells(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= 0xffff;
}
