import { jsonText, parseExactJson } from "../json/exact-json.ts";
import { byCodeUnits } from "../json/key-order.ts";
import { isJsonObject, type JsonValue } from "../json/json-value.ts";

/**
 * One step of a path to a field, in the form of `fieldsV1`: `f:NAME` is a field or the key of a map, `k:{"name":"web"}` an item of a list by
 * its keys, `v:"red"` an item of a set by its value, `i:0` an item by its index.
 *
 * Source: sigs.k8s.io/structured-merge-diff/v6 v6.3.3 fieldpath/serialize-pe.go.
 */
export type PathElement = string;

const fieldElements = new Map<string, PathElement>();
/** Elements that are kept; more than the fields of all built-in kinds. */
const mostNames = 5000;

/** Element of a field. */
export function fieldElement(name: string): PathElement {
  let element = fieldElements.get(name);
  if (element === undefined) {
    element = `f:${name}`;
    if (fieldElements.size < mostNames) fieldElements.set(name, element);
  }
  return element;
}

/** Name of the field of an element; `undefined` if it is an item of a list. */
export function fieldNameOf(element: PathElement): string | undefined {
  return element.startsWith("f:") ? element.slice(2) : undefined;
}

/** Element of a list item with keys. @param keys - in any order; must not be empty */
export function keyElement(keys: Readonly<Record<string, JsonValue>>): PathElement {
  const names = Object.keys(keys).toSorted();
  return `k:{${names.map((name) => `${JSON.stringify(name)}:${jsonText(keys[name])}`).join(",")}}`;
}

/** Element of an item of a set. */
export function valueElement(value: JsonValue): PathElement {
  return `v:${jsonText(value)}`;
}

/** Element of an item of another list. */
export function indexElement(index: number): PathElement {
  return `i:${index}`;
}

/** Whether the text is an element that this version knows. Others are dropped, as by the real server. */
export function isPathElement(text: string): boolean {
  if (text.startsWith("f:")) return true;
  if (/^i:-?\d+$/.test(text)) return true;
  return (text.startsWith("k:") && isJsonObject(parsed(text))) || (text.startsWith("v:") && parsed(text) !== undefined);
}

const parsedElements = new Map<PathElement, JsonValue | undefined>();

/** Value of an element of a list item; `undefined` if it is not JSON. */
function parsed(element: PathElement): JsonValue | undefined {
  if (parsedElements.has(element)) return parsedElements.get(element);
  const value = parseValue(element.slice(2));
  if (parsedElements.size >= mostNames) parsedElements.clear();
  parsedElements.set(element, value);
  return value;
}

function parseValue(text: string): JsonValue | undefined {
  try {
    return parseExactJson(text);
  } catch {
    return undefined;
  }
}

const ranks = "fkvi";

/** Order of elements in `fieldsV1`; source: fieldpath/element.go, `Compare`. */
export function compareElements(a: PathElement, b: PathElement): number {
  if (a === b) return 0;
  const [kindA, kindB] = [a.charAt(0), b.charAt(0)];
  if (kindA !== kindB) return ranks.indexOf(kindA) - ranks.indexOf(kindB);
  if (kindA === "f") return byCodeUnits(a, b);
  if (kindA === "i") return Number(a.slice(2)) - Number(b.slice(2));
  const [left, right] = [parsed(a), parsed(b)];
  return isJsonObject<JsonValue>(left) && isJsonObject<JsonValue>(right) ? compareKeys(left, right) : compareValues(left, right);
}

function compareKeys(a: Readonly<Record<string, JsonValue>>, b: Readonly<Record<string, JsonValue>>): number {
  const [left, right] = [Object.entries(a), Object.entries(b)];
  for (const [index, [name, value]] of left.entries()) {
    const other = right[index];
    if (other === undefined) return 1;
    const order = byCodeUnits(name, other[0]) || compareValues(value, other[1]);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

function isNumeric(value: JsonValue | undefined): value is number | bigint {
  return typeof value === "number" || typeof value === "bigint";
}

function rankOf(value: JsonValue | undefined): number {
  return isNumeric(value) ? 0 : ["string", "boolean"].indexOf(typeof value) + 1;
}

function compareValues(a: JsonValue | undefined, b: JsonValue | undefined): number {
  if (isNumeric(a) && isNumeric(b)) return a < b ? -1 : Number(a > b);
  if (typeof a !== typeof b) return rankOf(a) - rankOf(b);
  if (typeof a === "boolean") return Number(a) - Number(b);
  return byCodeUnits(String(a), String(b));
}

/** A path for people, such as `.spec.containers[name="web"].image`. */
export function pathText(path: readonly PathElement[]): string {
  return path.map(elementText).join("");
}

/** An element for people, such as `.spec` or `[name="web"]`. */
export function elementText(element: PathElement): string {
  const rest = element.slice(2);
  switch (element.charAt(0)) {
    case "f":
      return `.${rest}`;
    case "k":
      return `[${Object.entries((parsed(element) ?? {}) as Record<string, JsonValue>)
        .map(([name, value]) => `${name}=${jsonText(value)}`)
        .join(",")}]`;
    case "v":
      return `[=${rest}]`;
    default:
      return `[${rest}]`;
  }
}
