/** The longest line that is read, in characters; what exceeds it is no engine's. */
const maxLineLength = 4 * 1024 * 1024;

/**
 * The values of a stream that has one in JSON on each line. Where a chunk ends means nothing; empty lines are none.
 *
 * @param tooLong - given in place of a line over four million characters
 * @throws SyntaxError for a line that is no JSON, RangeError for one that is too long where `tooLong` is absent
 */
export async function* jsonLines(stream: AsyncIterable<unknown>, tooLong?: unknown): AsyncGenerator<unknown> {
  const decoder = new TextDecoder();
  let rest = "";
  let isSkipping = false;
  for await (const chunk of stream) {
    rest += typeof chunk === "string" ? chunk : decoder.decode(chunk as Uint8Array, { stream: true });
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (!isSkipping && line.trim() !== "") yield JSON.parse(line);
      isSkipping = false;
    }
    if (rest.length <= maxLineLength) continue;
    if (tooLong === undefined) throw new RangeError(`read a line of the Docker engine: it has over ${maxLineLength} characters`);
    if (!isSkipping) yield tooLong;
    isSkipping = true;
    rest = "";
  }
  if (!isSkipping && rest.trim() !== "") yield JSON.parse(rest);
}
