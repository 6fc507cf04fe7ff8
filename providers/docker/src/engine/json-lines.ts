/** The longest line that is read, in characters; what exceeds it is no engine's. */
const maxLineLength = 4 * 1024 * 1024;

/**
 * The values of a stream that has one in JSON on each line. Where a chunk ends means nothing; empty lines are none.
 *
 * @throws SyntaxError for a line that is no JSON, RangeError for one over four million characters
 */
export async function* jsonLines(stream: AsyncIterable<unknown>): AsyncGenerator<unknown> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream) {
    rest += typeof chunk === "string" ? chunk : decoder.decode(chunk as Uint8Array, { stream: true });
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.trim() !== "") yield JSON.parse(line);
    if (rest.length > maxLineLength) throw new RangeError(`read a line of the Docker engine: it has over ${maxLineLength} characters`);
  }
  if (rest.trim() !== "") yield JSON.parse(rest);
}
