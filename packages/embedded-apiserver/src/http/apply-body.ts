import { badRequest } from "../errors/api-status-error.ts";
import { parseExactJson, withExactNumbers } from "../json/exact-json.ts";
import { goJsonType } from "../json/go-json.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { parseYaml, strictWarnings } from "../json/yaml.ts";
import { duplicateFields } from "../kinds/schema/duplicate-fields.ts";
import type { WriteOptions } from "../rest/rest-context.ts";

const decoder = new TextDecoder();

/**
 * Parses the body of a server-side apply. The options determine how keys are handled that occur twice.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/endpoints/handlers/patch.go, `applyPatcher`, which checks duplicates after the apply.
 *
 * @returns the configuration, and a function that refuses or reports duplicates
 * @throws ApiStatusError 400
 */
export function parseApplyBody(body: Uint8Array, options: WriteOptions): { readonly configuration: JsonObject; checkDuplicates(): void } {
  const text = decoder.decode(body);
  const { value, duplicates } = parseText(text);
  return {
    configuration: objectOf(value),
    checkDuplicates() {
      const problem = options.fieldValidation === "Ignore" ? undefined : duplicates();
      if (problem === undefined) return;
      if (options.fieldValidation === "Strict") throw badRequest(`error strict decoding YAML: error converting YAML to JSON: ${problem}`);
      for (const warning of strictWarnings(problem)) options.warn?.(warning);
    },
  };
}

interface Parsed {
  readonly value: JsonValue;
  /** Problem of keys that occur twice; `undefined` if there are none. */
  readonly duplicates: () => string | undefined;
}

function parseText(text: string): Parsed {
  try {
    return parseJson(text) ?? parseYamlText(text);
  } catch (error) {
    const [line = ""] = (error instanceof Error ? error.message : String(error)).split("\n", 1);
    throw badRequest(`error decoding YAML: error converting YAML to JSON: yaml: ${line}`);
  }
}

function parseYamlText(text: string): Parsed {
  const { value, duplicates } = parseYaml(text);
  return { value: withExactNumbers(value), duplicates: () => duplicates };
}

/** JSON is YAML, and much faster to parse. @returns `undefined` if it is not JSON */
function parseJson(text: string): Parsed | undefined {
  if (!/^\s*\{/.test(text)) return undefined;
  try {
    const value = parseExactJson(text);
    return { value, duplicates: () => (duplicateFields(text).length === 0 ? undefined : parseYaml(text).duplicates) };
  } catch {
    return undefined;
  }
}

function objectOf(value: JsonValue): JsonObject {
  if (isJsonObject<JsonValue>(value)) return value;
  if (value === null) return {};
  throw badRequest(
    `error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${goJsonType(value)} into Go value of type map[string]interface {}`,
  );
}
