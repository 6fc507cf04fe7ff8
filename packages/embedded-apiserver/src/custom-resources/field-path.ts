import { ownValue } from "@virtual-kubelet/kubernetes";
import type { JsonSchema } from "./crd-fields.ts";

/** A place below a value, such as `spec.items[key]`. */
export interface FieldPath {
  readonly path: string;
}

const escapes: Readonly<Record<string, string>> = {
  a: "\u0007",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "'": "'",
  "\\": "\\",
};

/**
 * Reads a JSON path that contains only fields and keys, such as `.spec['x']`.
 *
 * Source: k8s.io/apiextensions-apiserver v0.36.3 pkg/apiserver/schema/cel/validation.go, `ValidFieldPath`.
 *
 * @returns the path as errors show it; text that says what is wrong with it
 */
export function validFieldPath(jsonPath: string, schema: JsonSchema): FieldPath | string {
  const tokens = jsonPath.match(/\.|\[|\]|'(?:\\.|[^'\\])*'|[^.[\]']+/g) ?? [];
  let at: JsonSchema | undefined = schema;
  let path = "";
  for (let index = 0; index < tokens.length; index++) {
    const token = tokens[index];
    if (token !== "." && token !== "[") return `expected [ or . but got: ${String(token)}`;
    const part = tokens[++index];
    if (part === undefined) return "unexpected end of JSON path";
    const name = token === "." ? part : unquote(part);
    if (name === undefined) return `expected single quoted string but got ${part}`;
    if (token === "[" && tokens[++index] !== "]")
      return index >= tokens.length ? "unexpected end of JSON path" : `expected ] but got ${String(tokens[index])}`;
    const { properties, additionalProperties }: JsonSchema = at;
    if (properties !== undefined) {
      at = ownValue(properties, name);
      path += path === "" ? name : `.${name}`;
    } else {
      at = typeof additionalProperties === "object" ? additionalProperties : undefined;
      path += `[${name}]`;
    }
    if (at === undefined) return "does not refer to a valid field";
  }
  return { path };
}

function unquote(text: string): string | undefined {
  if (text.length < 2 || !text.startsWith("'") || !text.endsWith("'")) return undefined;
  let isValid = true;
  const unescaped = text.slice(1, -1).replaceAll(/\\(.)/gs, (_, letter: string) => {
    isValid &&= escapes[letter] !== undefined;
    return escapes[letter] ?? "";
  });
  return isValid ? unescaped : undefined;
}
