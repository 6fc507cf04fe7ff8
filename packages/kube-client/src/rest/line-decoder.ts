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
 * @throws DecodeError for a line that is too long or not UTF-8, after the lines before it were yielded.
 */
export async function* decodeLines(chunks: AsyncIterable<Uint8Array>, options: LineOptions = {}): AsyncGenerator<string, void> {
  const maxLineBytes = options.maxLineBytes ?? defaultMaxLineBytes;
  // A newline byte is never part of a longer UTF-8 sequence, so lines can be cut out before they are decoded.
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let pieces: Uint8Array[] = [];
  let pieceBytes = 0;

  const take = (piece: Uint8Array): void => {
    pieceBytes += piece.byteLength;
    if (pieceBytes > maxLineBytes) throw new DecodeError(`a line is longer than ${maxLineBytes} bytes`);
    if (piece.byteLength > 0) pieces.push(piece);
  };
  const decode = (): string => {
    const [first] = pieces;
    const bytes = pieces.length === 1 && first ? first : Buffer.concat(pieces, pieceBytes);
    pieces = [];
    pieceBytes = 0;
    try {
      return decoder.decode(bytes);
    } catch (cause) {
      throw new DecodeError("a line is not UTF-8", { cause });
    }
  };

  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      take(chunk.subarray(start, end));
      start = end + 1;
      if (pieceBytes > 0) yield decode();
    }
    take(chunk.subarray(start));
  }
  if (pieceBytes > 0) yield decode();
}
