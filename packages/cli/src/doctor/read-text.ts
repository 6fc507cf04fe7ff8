/** Maximum length of an answer that is read, in characters. */
const maxLength = 65_536;

/** Reads the beginning of an answer as text, and leaves the rest. */
export async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > maxLength) break;
  }
  return text.slice(0, maxLength);
}
