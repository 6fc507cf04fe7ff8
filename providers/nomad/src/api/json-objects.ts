/** The longest object that is taken, in bytes. */
const maxObjectBytes = 16 * 1024 * 1024;

const quote = 0x22;
const backslash = 0x5c;
const open = 0x7b;
const close = 0x7d;

/**
 * Cuts a stream of JSON objects that stand one behind the other, with or without anything between them: log frames have no
 * separator, events a newline. How the bytes are cut into chunks makes no difference.
 *
 * @throws SyntaxError for what is no JSON; RangeError for an object of more than 16 MiB
 */
export async function* jsonObjects(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<unknown, void, undefined> {
  let pieces: Uint8Array[] = [];
  let size = 0;
  let depth = 0;
  let inString = false;
  let escaped = false;

  for await (const chunk of chunks) {
    let start = depth > 0 ? 0 : -1;
    for (let at = 0; at < chunk.byteLength; at++) {
      const byte = chunk[at];
      if (inString) {
        if (escaped) escaped = false;
        else if (byte === backslash) escaped = true;
        else if (byte === quote) inString = false;
        continue;
      }
      if (byte === quote) inString = depth > 0;
      else if (byte === open) {
        if (depth++ === 0) start = at;
      } else if (byte === close && depth > 0 && --depth === 0) {
        pieces.push(chunk.subarray(start, at + 1));
        const text = Buffer.concat(pieces).toString("utf8");
        pieces = [];
        size = 0;
        start = -1;
        yield JSON.parse(text);
      }
    }
    if (start < 0) continue;
    const rest = chunk.subarray(start);
    size += rest.byteLength;
    if (size > maxObjectBytes) throw new RangeError(`an object of more than ${maxObjectBytes} bytes`);
    pieces.push(Uint8Array.from(rest));
  }
}
