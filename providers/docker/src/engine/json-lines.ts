/** Maximum length of a line, in characters. No engine sends longer ones. */
const maxLineLength = 4 * 1024 * 1024;

/**
 * Parses a stream with a JSON value on each line. Empty lines are ignored.
 *
 * @param tooLong - returned in place of a line over four million characters
 * @throws SyntaxError for malformed JSON, RangeError for a line that is too long if `tooLong` is not given
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
