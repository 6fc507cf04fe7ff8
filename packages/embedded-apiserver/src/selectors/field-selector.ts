import { badRequest } from "../errors/api-status-error.ts";
import type { ApiObject, Kind } from "../kinds/kind.ts";

export type FieldMatcher = (object: Readonly<ApiObject>) => boolean;

interface Term {
  readonly field: string;
  readonly negated: boolean;
  readonly value: string;
}

/** `==` is tried before `=`, otherwise its second character would be part of the value. */
const operators = ["!=", "==", "="] as const;

/**
 * Parses a field selector such as `spec.nodeName=a,status.phase!=Failed`.
 *
 * Source of the grammar and of the messages: k8s.io/apimachinery v0.36.3 pkg/fields/selector.go.
 *
 * @returns `undefined` for an empty selector, which selects everything
 * @throws ApiStatusError 400 for an invalid selector, or for a field that the kind does not support
 */
export function parseFieldSelector(text: string, kind: Kind): FieldMatcher | undefined {
  const matchers = splitTerms(text)
    .filter((term) => term !== "")
    .map((term) => matcher(parseTerm(term, text), kind));
  if (matchers.length === 0) return undefined;
  return (object) => matchers.every((matches) => matches(object));
}

function matcher({ field, negated, value }: Term, kind: Kind): FieldMatcher {
  const read = fieldReader(field, kind);
  return (object) => (read(object) === value) !== negated;
}

function fieldReader(field: string, kind: Kind): (object: ApiObject) => string {
  if (field === "metadata.name") return (object) => object.metadata.name;
  if (field === "metadata.namespace" && kind.namespaced) return (object) => object.metadata.namespace ?? "";
  const read = kind.fieldSelectors?.[field];
  if (read !== undefined) return read;
  throw badRequest(
    kind.fieldSelectors === undefined
      ? `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`
      : `field label not supported: ${field}`,
  );
}

function parseTerm(term: string, selector: string): Term {
  for (let index = 0; index < term.length; index++) {
    const operator = operators.find((candidate) => term.startsWith(candidate, index));
    if (operator !== undefined) {
      return { field: term.slice(0, index), negated: operator === "!=", value: unescapeValue(term.slice(index + operator.length)) };
    }
  }
  throw badRequest(`invalid selector: '${selector}'; can't understand '${term}'`);
}

/** Splits at commas that are not escaped with a backslash. */
function splitTerms(text: string): string[] {
  const terms: string[] = [];
  let start = 0;
  for (let index = 0; index < text.length; index++) {
    if (text[index] === "\\") index++;
    else if (text[index] === ",") {
      terms.push(text.slice(start, index));
      start = index + 1;
    }
  }
  return [...terms, text.slice(start)];
}

function unescapeValue(text: string): string {
  let value = "";
  for (let index = 0; index < text.length; index++) {
    const character = text.charAt(index);
    if (character === "," || character === "=")
      throw badRequest(`invalid field selector: unescaped character in value: ${character.charCodeAt(0)}`);
    if (character !== "\\") {
      value += character;
      continue;
    }
    const escaped = text.charAt(++index);
    if (escaped !== "\\" && escaped !== "," && escaped !== "=")
      throw badRequest(`invalid field selector: invalid escape sequence: \\${escaped}`);
    value += escaped;
  }
  return value;
}
