import { badRequest } from "../errors/api-status-error.ts";
import { byCodeUnits } from "../json/key-order.ts";
import type { ApiObject, Kind } from "../kinds/kind.ts";

export type FieldMatcher = (object: Readonly<ApiObject>) => boolean;

/** Part of a field selector, such as `spec.nodeName!=a`. */
export interface FieldTerm {
  readonly field: string;
  readonly negated: boolean;
  readonly value: string;
}

/** `==` is tried before `=`, otherwise its second character would be part of the value. */
const operators = ["!=", "==", "="] as const;

/**
 * Parses a field selector such as `spec.nodeName=a,status.phase!=Failed`.
 *
 * Source of the grammar, of the order and of the messages: k8s.io/apimachinery v0.36.3 pkg/fields/selector.go, `parseSelector`.
 *
 * @returns no terms for an empty selector, which selects everything
 * @throws ApiStatusError 400 for an invalid selector
 */
export function parseFieldSelector(text: string): readonly FieldTerm[] {
  return splitTerms(text)
    .toSorted(byCodeUnits)
    .filter((term) => term !== "")
    .map((term) => parseTerm(term, text));
}

/**
 * Predicate of the terms of a field selector.
 *
 * @returns `undefined` if everything is selected
 * @throws ApiStatusError 400 for a field that the kind does not support
 */
export function fieldMatcher(terms: readonly FieldTerm[], kind: Kind): FieldMatcher | undefined {
  // Source: `hasTerm.Transform`. `=` alone selects everything.
  const matchers = terms.filter(({ field, value }) => field !== "" || value !== "").map((term) => matcher(term, kind));
  if (matchers.length === 0) return undefined;
  return (object) => matchers.every((matches) => matches(object));
}

function matcher({ field, negated, value }: FieldTerm, kind: Kind): FieldMatcher {
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

function parseTerm(term: string, selector: string): FieldTerm {
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
  let isEscaped = false;
  for (const character of text) {
    const isSpecial = character === "\\" || character === "," || character === "=";
    if (isEscaped && !isSpecial) throw badRequest(`invalid field selector: invalid escape sequence: \\${character}`);
    if (!isEscaped && isSpecial && character !== "\\")
      throw badRequest(`invalid field selector: unescaped character in value: ${String(character.charCodeAt(0))}`);
    isEscaped = !isEscaped && character === "\\";
    if (!isEscaped) value += character;
  }
  if (isEscaped) throw badRequest("invalid field selector: invalid escape sequence: \\");
  return value;
}
