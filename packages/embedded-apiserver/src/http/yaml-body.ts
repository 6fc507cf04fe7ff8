import { createRequire } from "node:module";
import { badRequest } from "../errors/api-status-error.ts";
import type { JsonValue } from "../json/json-value.ts";
import { once } from "../kinds/schema/once.ts";

/** Loaded with the first YAML body, because most clients send JSON. */
const yaml = once(() => createRequire(import.meta.url)("yaml") as typeof import("yaml"));

/**
 * Parses the first document of a YAML text, with the scalars of YAML 1.1, as Kubernetes does.
 *
 * @throws ApiStatusError 400
 */
export function parseYaml(body: Uint8Array): JsonValue {
  const text = Buffer.from(body).toString();
  if (/^\s*\{/.test(text)) {
    const value = parseJson(text);
    if (value !== undefined) return value;
  }
  const [document] = yaml().parseAllDocuments(text, { version: "1.1", uniqueKeys: false, merge: true });
  if (document === undefined || !("errors" in document)) return null;
  const [error] = document.errors;
  if (error !== undefined)
    throw badRequest(`error decoding YAML: error converting YAML to JSON: yaml: ${error.message.split("\n", 1)[0] ?? ""}`);
  // YAML that has no counterpart in JSON, such as dates, becomes text.
  return JSON.parse(JSON.stringify(document.toJS())) as JsonValue;
}

/** JSON is YAML, and much faster to parse. @returns `undefined` if it is not JSON */
function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
