import { badRequest } from "../errors/api-status-error.ts";
import { exactNumbers, InexactIntegerError, parseExactJson } from "../json/exact-json.ts";
import type { JsonValue } from "../json/json-value.ts";
import { parseYaml } from "../json/yaml.ts";

/**
 * Parses the YAML body of a server-side apply; an empty body is null.
 *
 * @throws ApiStatusError 400
 */
export function parseYamlBody(body: Uint8Array): JsonValue {
  const text = Buffer.from(body).toString();
  try {
    // JSON is YAML, and much faster to parse.
    if (/^\s*\{/.test(text)) return parseExactJson(text);
  } catch (error) {
    if (error instanceof InexactIntegerError) throw badRequest(error.message);
  }
  try {
    return exactNumbers(parseYaml(text).value);
  } catch (error) {
    if (error instanceof InexactIntegerError) throw badRequest(error.message);
    const message = error instanceof Error ? (error.message.split("\n", 1)[0] ?? "") : String(error);
    throw badRequest(`error decoding YAML: error converting YAML to JSON: yaml: ${message}`);
  }
}
