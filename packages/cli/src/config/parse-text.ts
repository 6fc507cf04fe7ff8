import { extname } from "node:path";

/**
 * Reads JSON, YAML or TOML, by the file's suffix; without a known suffix it is YAML, of which JSON is a part. The
 * parsers are loaded when they are needed.
 *
 * @throws Error with the parser's message, position included, on one line
 */
export async function parseText(file: string, text: string): Promise<unknown> {
  switch (extname(file).toLowerCase()) {
    case ".json":
      return JSON.parse(text);
    case ".toml": {
      const { parse, TomlError } = await import("smol-toml");
      try {
        return parse(text);
      } catch (error) {
        if (!(error instanceof TomlError)) throw error;
        // The rest of its message quotes the line, which may hold a secret.
        const [reason = ""] = error.message.split("\n", 1);
        throw new Error(`${reason} at line ${error.line}, column ${error.column}`, { cause: error });
      }
    }
    default: {
      const { parseAllDocuments } = await import("yaml");
      const documents = parseAllDocuments(text, { prettyErrors: true });
      if (!Array.isArray(documents)) return undefined;
      if (documents.length > 1) throw new Error(`${documents.length} documents, expected one`);
      const error = documents[0]?.errors[0];
      if (error) throw new Error(error.message);
      return documents[0]?.toJS();
    }
  }
}
