import { isRecord } from "../is-record.ts";
import type { TerminalSize } from "./terminal-size.ts";

/** Maximum length of a size, which usually takes thirty bytes. */
const maxTextLength = 4096;

/**
 * Splits a resize stream into sizes: concatenated JSON objects, `{"Width":80,"Height":24}`, in chunks of any length. Invalid sizes are
 * skipped.
 */
export class ResizeParser {
  #text = "";

  /** Returns the sizes that the chunk completes. */
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

/** Encodes a size for a resize stream. */
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
