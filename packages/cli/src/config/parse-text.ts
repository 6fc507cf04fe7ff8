import { messageOf } from "@virtual-kubelet/errdefs";
import { extname } from "node:path";

/**
 * Parses JSON, YAML or TOML by the file's suffix; the default is YAML, which includes JSON. Parsers are loaded on demand.
 *
 * @throws Error with the reason and the position on one line; the text itself, which may contain secrets, is not quoted
 */
export async function parseText(file: string, text: string): Promise<unknown> {
  switch (extname(file).toLowerCase()) {
    case ".json":
      return parseJson(text);
    case ".toml": {
      const { parse, TomlError } = await import("smol-toml");
      try {
        return parse(text);
      } catch (error) {
        if (!(error instanceof TomlError)) throw error;
        // The other lines of the message quote the text.
        const [reason = ""] = error.message.split("\n", 1);
        throw new Error(`${reason} at line ${error.line}, column ${error.column}`, { cause: error });
      }
    }
    default: {
      const { parseAllDocuments } = await import("yaml");
      const documents = parseAllDocuments(text, { prettyErrors: true });
      if (!Array.isArray(documents)) return undefined;
      if (documents.length > 1) throw new Error(`has ${documents.length} documents, expected one`);
      const error = documents[0]?.errors[0];
      if (error) throw new Error(withoutQuote(error.message));
      try {
        return documents[0]?.toJS();
      } catch (cause) {
        throw new Error(withoutQuote(messageOf(cause)), { cause });
      }
    }
  }
}

/** First line of a message of the YAML parser, without the quoted text before the position. */
function withoutQuote(message: string): string {
  const [line = ""] = message.split("\n", 1);
  const place = / at line \d+, column \d+/.exec(line)?.[0] ?? "";
  const [reason = ""] = line.replace(place, "").split(/:(?= |$)/, 1);
  return `${reason.trimEnd()}${place}`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const { reason, position } = jsonProblem(text, messageOf(error));
    const before = text.slice(0, position).split("\n");
    const column = (before.at(-1)?.length ?? 0) + 1;
    throw new Error(`Invalid JSON document: ${reason} at line ${before.length}, column ${column}`, { cause: error });
  }
}

const unexpectedToken = "Unexpected token";

/**
 * Reason and position of a JSON syntax error. For an unexpected character, Node.js's message quotes the text instead of naming the
 * position.
 */
function jsonProblem(text: string, message: string): { readonly reason: string; readonly position: number } {
  const [, reason, position] = /^(.*) in JSON at position (\d+)/.exec(message) ?? [];
  if (reason !== undefined) return { reason, position: Number(position) };
  if (!message.startsWith(unexpectedToken)) return { reason: "Unexpected end", position: text.length };
  // Binary search: prefixes that contain the character fail because of it, shorter ones because they end.
  let [good, bad] = [0, text.length];
  while (bad - good > 1) {
    const middle = Math.floor((good + bad) / 2);
    if (jsonError(text.slice(0, middle)).startsWith(unexpectedToken)) bad = middle;
    else good = middle;
  }
  return { reason: unexpectedToken, position: good };
}

function jsonError(text: string): string {
  try {
    JSON.parse(text);
    return "";
  } catch (error) {
    return messageOf(error);
  }
}
