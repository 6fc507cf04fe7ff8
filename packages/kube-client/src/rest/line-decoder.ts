import { DecodeError } from "../errors/decode-error.ts";

/** Maximum length of a line in bytes: a watch event wraps an object, which has at most about 3 MiB. */
const defaultMaxLineBytes = 8 * 1024 * 1024;

const newline = 0x0a;

/** Options of {@link decodeLines}. */
export interface LineOptions {
  /** Default 8 MiB. */
  readonly maxLineBytes?: number;
}

/**
 * Splits a stream of bytes into lines and decodes each as UTF-8. Lines come without their newline, and empty ones
 * are skipped; text after the last newline is a line as well. Chunk boundaries do not matter.
 *
 * @returns for each chunk the lines that end in it, if there are any
 * @throws DecodeError for a line that is too long or not UTF-8, after the lines before it were yielded.
 */
export async function* decodeLines(chunks: AsyncIterable<Uint8Array>, options: LineOptions = {}): AsyncGenerator<string[], void> {
  const decoder = new LineDecoder(options.maxLineBytes ?? defaultMaxLineBytes);
  for await (const chunk of chunks) {
    const lines: string[] = [];
    try {
      decoder.push(chunk, lines);
    } catch (error) {
      if (lines.length > 0) yield lines;
      throw error;
    }
    if (lines.length > 0) yield lines;
  }
  const lines: string[] = [];
  decoder.end(lines);
  if (lines.length > 0) yield lines;
}

class LineDecoder {
  readonly #maxLineBytes: number;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  /** The beginning of a line whose end has not arrived. */
  #pieces: Uint8Array[] = [];
  #pieceBytes = 0;

  constructor(maxLineBytes: number) {
    this.#maxLineBytes = maxLineBytes;
  }

  /** @param lines - gets the lines that end in the chunk, also those before a line that is refused */
  push(chunk: Uint8Array, lines: string[]): void {
    // A newline byte is never part of a longer UTF-8 sequence, so lines can be cut out before they are decoded.
    const end = chunk.lastIndexOf(newline);
    if (end >= 0 && this.#pieceBytes + end <= this.#maxLineBytes) this.#takeLines(chunk.subarray(0, end), lines);
    else if (end >= 0) this.#takeEachLine(chunk.subarray(0, end), lines);
    this.#take(end < 0 ? chunk : chunk.subarray(end + 1));
  }

  /** Takes the text after the last newline as a line. */
  end(lines: string[]): void {
    if (this.#pieceBytes > 0) lines.push(this.#decode());
  }

  /** Takes complete lines that together are not longer than one may be. They are decoded together, which costs less. */
  #takeLines(bytes: Uint8Array, lines: string[]): void {
    const pieces = [...this.#pieces];
    this.#take(bytes);
    let text: string;
    try {
      text = this.#decode();
    } catch {
      this.#pieces = pieces;
      this.#pieceBytes = pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
      return this.#takeEachLine(bytes, lines);
    }
    for (const line of text.split("\n")) if (line !== "") lines.push(line);
  }

  #takeEachLine(bytes: Uint8Array, lines: string[]): void {
    let start = 0;
    do {
      const next = bytes.indexOf(newline, start);
      const end = next < 0 ? bytes.byteLength : next;
      this.#take(bytes.subarray(start, end));
      if (this.#pieceBytes > 0) lines.push(this.#decode());
      start = end + 1;
    } while (start <= bytes.byteLength);
  }

  #take(piece: Uint8Array): void {
    this.#pieceBytes += piece.byteLength;
    if (this.#pieceBytes > this.#maxLineBytes) throw new DecodeError(`a line is longer than ${this.#maxLineBytes} bytes`);
    if (piece.byteLength > 0) this.#pieces.push(piece);
  }

  #decode(): string {
    const [first] = this.#pieces;
    const bytes = this.#pieces.length === 1 && first ? first : Buffer.concat(this.#pieces, this.#pieceBytes);
    this.#pieces = [];
    this.#pieceBytes = 0;
    try {
      return this.#decoder.decode(bytes);
    } catch (cause) {
      throw new DecodeError("a line is not UTF-8", { cause });
    }
  }
}
